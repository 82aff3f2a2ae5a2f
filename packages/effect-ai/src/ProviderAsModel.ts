/**
 * A provider of the kernel as a language model of Effect AI.
 *
 * ProviderAsModel.M1. One response is one attempt: `holdfast` gives the model patience like any other.
 * ProviderAsModel.M2. What a provider cannot do fails before it is called, by name: a call of a tool cannot be forced.
 * ProviderAsModel.M3. An object is asked for in words, with its JSON Schema: providers have no setting for it.
 */
import type { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { defined, type Failure, Ids, type Message, type Target } from "@holdfast/wire"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Prompts from "./Prompts.ts"

/** The model `target.model` of a provider. */
export const model = (
  provider: Provider.Provider["Service"],
  target: Target.Target
): Model.Model<string, LanguageModel.LanguageModel, never> => {
  const streamText = (method: string) => (options: LanguageModel.ProviderOptions) =>
    Stream.suspend(() => {
      const writer = new Writer()
      return Effect.flatMap(Clock.currentTimeMillis, (now) => requestOf(method, target, now, options)).pipe(
        Stream.fromEffect,
        Stream.flatMap((request) => provider.stream(request)),
        Stream.catchTag("ProviderFailure", ({ failure }) => Stream.fail(errorOf(method, failure))),
        Stream.flatMap((event) =>
          event.type === "error"
            ? Stream.fail(errorOf(method, event.failure))
            : Stream.fromIterable(writer.partsOf(event))
        )
      )
    })
  const service = LanguageModel.make({
    streamText: streamText("streamText"),
    generateText: (options) =>
      Effect.flatMap(Stream.runCollect(streamText("generateText")(options)), (parts) =>
        parts.some(({ type }) => type === "finish")
          ? Effect.succeed(joined(parts))
          : Effect.fail(errorOf("generateText", Classification.incomplete()))
      )
  })
  return Model.make(target.provider, target.model, Layer.effect(LanguageModel.LanguageModel, service))
}

// --- internal

const requestOf = (
  method: string,
  target: Target.Target,
  now: number,
  { prompt, responseFormat, toolChoice, tools }: LanguageModel.ProviderOptions
): Effect.Effect<Provider.ProviderRequest, AiError.AiError> => {
  const isForced =
    toolChoice === "required" ||
    (typeof toolChoice === "object" && ("tool" in toolChoice || toolChoice.mode === "required"))
  if (isForced) {
    const message = "toolChoice: a provider of Holdfast cannot be made to call a tool, expected auto, none or oneOf."
    return Effect.fail(errorOf(method, { reason: "bad-request", message })) // M2
  }
  return Effect.map(
    Effect.try({
      try: () => Prompts.messagesOf(prompt, target, now),
      catch: (error) => errorOf(method, { reason: "bad-request", message: String(error) })
    }),
    ({ messages, system }) => ({
      conversationId: Ids.ConversationId.make(Prompts.TURN),
      turnId: Prompts.TURN,
      step: 0,
      attempt: 0,
      target,
      messages,
      tools:
        toolChoice === "none"
          ? []
          : tools.map((tool) => ({
              name: tool.name,
              inputSchema: Tool.getJsonSchema(tool) as never,
              ...defined({ description: Tool.getDescription(tool) })
            })),
      ...defined({
        system: [system, formatOf(responseFormat)].filter((text) => text !== undefined).join("\n\n") || undefined
      })
    })
  )
}

/** M3 */
const formatOf = (format: LanguageModel.ProviderOptions["responseFormat"]): string | undefined =>
  format.type === "text"
    ? undefined
    : `Answer with the JSON of one ${format.objectName} and nothing else. Its JSON Schema: ${JSON.stringify(Tool.getJsonSchemaFromSchema(format.schema))}`

/** Writes the events of one response as parts, with the blocks that Effect AI has. */
class Writer {
  private blocks = 0
  private open: "text" | "reasoning" | undefined
  private usage: Message.Usage = {}

  partsOf(
    event: Exclude<Provider.ProviderEvent, { readonly type: "error" }>
  ): ReadonlyArray<Response.StreamPartEncoded> {
    switch (event.type) {
      case "text-delta":
        return [...this.begin("text"), { type: "text-delta", id: this.id, delta: event.delta }]
      case "reasoning-delta":
        return [...this.begin("reasoning"), { type: "reasoning-delta", id: this.id, delta: event.delta }]
      case "reasoning-end":
        return [...this.begin("reasoning"), ...this.end(Prompts.withProof(event))]
      case "tool-call":
        return [...this.end(), callOf(event)]
      case "file":
        return "data" in event
          ? [
              ...this.end(),
              { type: "file", mediaType: event.mediaType, data: event.data, metadata: Prompts.withProof(event) }
            ]
          : []
      case "usage":
        this.usage = event.usage
        return []
      case "finish":
        return [
          ...this.end(),
          { type: "finish", reason: event.finishReason, usage: usageOf(this.usage), response: undefined }
        ]
      case "tool-calls-cut":
        return []
    }
  }

  private get id(): string {
    return String(this.blocks)
  }

  private begin(kind: "text" | "reasoning"): ReadonlyArray<Response.StreamPartEncoded> {
    if (this.open === kind) return []
    const ended = this.end()
    this.open = kind
    this.blocks++
    return [...ended, { type: `${kind}-start`, id: this.id }]
  }

  private end(metadata = {}): ReadonlyArray<Response.StreamPartEncoded> {
    if (this.open === undefined) return []
    const type = `${this.open}-end` as const
    this.open = undefined
    return [{ type, id: this.id, metadata }]
  }
}

const callOf = ({ input, proof, toolCallId, toolName }: Message.ToolCallPart): Response.ToolCallPartEncoded => ({
  type: "tool-call",
  id: toolCallId,
  name: toolName,
  params: input,
  metadata: Prompts.withProof(defined({ proof }))
})

/** The parts of a stream as those of a whole response. */
const joined = (parts: ReadonlyArray<Response.StreamPartEncoded>): Array<Response.PartEncoded> => {
  const whole: Array<Response.PartEncoded> = []
  let text = ""
  for (const part of parts) {
    if (part.type === "text-delta" || part.type === "reasoning-delta") text += part.delta
    else if (part.type === "text-end" || part.type === "reasoning-end") {
      whole.push({ type: part.type === "text-end" ? "text" : "reasoning", text, metadata: part.metadata })
      text = ""
    } else if (part.type === "tool-call" || part.type === "file" || part.type === "finish") whole.push(part)
  }
  return whole
}

const usageOf = (usage: Message.Usage): typeof Response.Usage.Encoded => {
  const { cacheWriteTokens, cachedInputTokens, inputTokens, outputTokens, reasoningTokens } = usage
  const rest = (total: number | undefined, ...parts: ReadonlyArray<number | undefined>): number | undefined =>
    total === undefined
      ? undefined
      : Math.max(
          parts.reduce<number>((left, part = 0) => left - part, total),
          0
        )
  return {
    inputTokens: {
      uncached: rest(inputTokens, cachedInputTokens, cacheWriteTokens),
      total: inputTokens,
      cacheRead: cachedInputTokens,
      cacheWrite: cacheWriteTokens
    },
    outputTokens: { total: outputTokens, text: rest(outputTokens, reasoningTokens), reasoning: reasoningTokens }
  }
}

/** A failure as Effect AI's error, by its reason. The failure goes with it: the classifier takes it as it is. */
const errorOf = (method: string, failure: Provider.EmittedFailure): AiError.AiError =>
  Object.assign(AiError.make({ module: "Holdfast", method, reason: reasonOf(failure) }), {
    failure: { retryable: false, ...failure } satisfies Failure.Failure
  })

const reasonOf = ({ hint, message: description, reason }: Provider.EmittedFailure): AiError.AiErrorReason => {
  switch (reason) {
    case "rate-limited":
      return new AiError.RateLimitError(hint && { retryAfter: Duration.millis(hint.retryAfterMs) })
    case "quota-exhausted":
      return new AiError.QuotaExhaustedError({})
    case "auth":
      return new AiError.AuthenticationError({ kind: "Unknown", description })
    case "refused":
      return new AiError.ContentPolicyError({ description })
    case "context-overflow":
    case "model-unavailable":
    case "bad-request":
      return new AiError.InvalidRequestError({ description })
    case "invalid-response":
      return new AiError.InvalidOutputError({ description })
    default:
      return new AiError.InternalProviderError({ description })
  }
}
