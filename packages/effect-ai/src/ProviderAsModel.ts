/**
 * A provider of the kernel as a language model of Effect AI.
 *
 * One response is one attempt: `holdfast` gives the model patience like any other. What a provider cannot do fails before it is called,
 * by name: a call of a tool cannot be forced. An object is asked for in words, with its JSON Schema: providers have no setting for it.
 */
import type { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { defined, Ids, type Target } from "@holdfast/wire"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import * as Tool from "effect/ai/Tool"
import { errorOf } from "./FailureAsError.ts"
import * as EffectPrompts from "./EffectPrompts.ts"
import * as ResponseParts from "./ResponseParts.ts"

/** The model `target.model` of a provider. */
export const model = (
  provider: Provider.Provider["Service"],
  target: Target.Target
): Model.Model<string, LanguageModel.LanguageModel, never> => {
  const streamText = (method: string) =>
    Effect.fnUntraced(function* (options: LanguageModel.ProviderOptions) {
      const now = yield* Clock.currentTimeMillis
      const request = yield* Effect.try({
        try: () => requestOf(target, now, options),
        catch: (error) => errorOf(method, { reason: "bad-request", message: (error as Error).message })
      })
      const writer = new ResponseParts.Writer()
      return provider.stream(request).pipe(
        Stream.catchTag("ProviderFailure", ({ failure }) => Stream.fail(errorOf(method, failure))),
        Stream.flatMap((event) =>
          event.type === "error"
            ? Stream.fail(errorOf(method, event.failure))
            : Stream.fromIterable(writer.partsOf(event))
        )
      )
    }, Stream.unwrap)
  const service = LanguageModel.make({
    streamText: streamText("streamText"),
    generateText: (options) =>
      Effect.flatMap(Stream.runCollect(streamText("generateText")(options)), (parts) =>
        parts.some(({ type }) => type === "finish")
          ? Effect.succeed(ResponseParts.joined(parts))
          : Effect.fail(errorOf("generateText", Classification.incomplete()))
      )
  })
  return Model.make(target.provider, target.model, Layer.effect(LanguageModel.LanguageModel, service))
}

// --- internal

const requestOf = (
  target: Target.Target,
  now: number,
  { prompt, responseFormat, toolChoice, tools }: LanguageModel.ProviderOptions
): Provider.ProviderRequest => {
  const mode = typeof toolChoice === "object" ? ("tool" in toolChoice ? "required" : toolChoice.mode) : toolChoice
  if (mode === "required")
    throw new Error("toolChoice: a provider of Holdfast cannot be made to call a tool, expected auto, none or oneOf.")
  const { messages, system } = EffectPrompts.messagesOf(prompt, target, now)
  return {
    conversationId: Ids.ConversationId.make(EffectPrompts.TURN),
    turnId: EffectPrompts.TURN,
    step: 0,
    attempt: 0,
    target,
    messages,
    tools: mode === "none" ? [] : tools.map(definitionOf),
    ...defined({ system: [system, formatOf(responseFormat)].filter(Boolean).join("\n\n") || undefined })
  }
}

const definitionOf = (tool: Tool.Any) => ({
  name: tool.name,
  inputSchema: Tool.getJsonSchema(tool) as never,
  ...defined({ description: Tool.getDescription(tool) })
})

const formatOf = (format: LanguageModel.ProviderOptions["responseFormat"]): string | undefined =>
  format.type === "text"
    ? undefined
    : `Answer with the JSON of one ${format.objectName} and nothing else. Its JSON Schema: ${JSON.stringify(Tool.getJsonSchemaFromSchema(format.schema))}`
