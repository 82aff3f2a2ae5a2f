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
import { countsOf, Metadata } from "holdfast/bridge"
import * as Prompts from "./Prompts.ts"

/** The model `target.model` of a provider. */
export const model = (
  provider: Provider.Provider["Service"],
  target: Target.Target
): Model.Model<string, LanguageModel.LanguageModel, never> => {
  const streamText = (method: string) => (options: LanguageModel.ProviderOptions) =>
    Stream.suspend(() => {
      const writer = new Writer()
      const request = Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.try({
          try: () => requestOf(target, now, options),
          catch: (error) => errorOf(method, { reason: "bad-request", message: (error as Error).message })
        })
      )
      return Stream.fromEffect(request).pipe(
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
  target: Target.Target,
  now: number,
  { prompt, responseFormat, toolChoice, tools }: LanguageModel.ProviderOptions
): Provider.ProviderRequest => {
  if (
    toolChoice === "required" ||
    (typeof toolChoice === "object" && ("tool" in toolChoice || toolChoice.mode === "required"))
  )
    throw new Error("toolChoice: a provider of Holdfast cannot be made to call a tool, expected auto, none or oneOf.") // M2
  const { messages, system } = Prompts.messagesOf(prompt, target, now)
  const offered = toolChoice === "none" ? [] : tools
  return {
    conversationId: Ids.ConversationId.make(Prompts.TURN),
    turnId: Prompts.TURN,
    step: 0,
    attempt: 0,
    target,
    messages,
    tools: offered.map((tool) => ({
      name: tool.name,
      inputSchema: Tool.getJsonSchema(tool) as never,
      ...defined({ description: Tool.getDescription(tool) })
    })),
    ...defined({ system: [system, formatOf(responseFormat)].filter(Boolean).join("\n\n") || undefined })
  }
}

/** M3 */
const formatOf = (format: LanguageModel.ProviderOptions["responseFormat"]): string | undefined =>
  format.type === "text"
    ? undefined
    : `Answer with the JSON of one ${format.objectName} and nothing else. Its JSON Schema: ${JSON.stringify(Tool.getJsonSchemaFromSchema(format.schema))}`

type Event = Exclude<Provider.ProviderEvent, { readonly type: "error" }>
type Parts = ReadonlyArray<Response.StreamPartEncoded>

/** Writes the events of one response as parts, with the blocks that Effect AI has. */
class Writer {
  private blocks = 0
  private open: "text" | "reasoning" | undefined
  private usage: Message.Usage = {}

  partsOf(event: Event): Parts {
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
        return [...this.begin(event.type === "text-delta" ? "text" : "reasoning"), { ...event, id: this.id }]
      case "reasoning-end":
        return [...this.begin("reasoning"), ...this.end(Metadata.metadataOf(event, "info"))]
      case "tool-call": {
        const { input, toolCallId, toolName, type } = event
        return [
          ...this.end(),
          { type, id: toolCallId, name: toolName, params: input, metadata: Metadata.metadataOf(event) }
        ]
      }
      case "file": {
        if (!("data" in event)) return [] // Effect AI has no files at an address.
        const { data, mediaType, type } = event
        return [...this.end(), { type, mediaType, data, metadata: Metadata.metadataOf(event) }]
      }
      case "usage":
        this.usage = event.usage
        return []
      case "finish":
        return [
          ...this.end(),
          { type: event.type, reason: event.finishReason, usage: countsOf(this.usage), response: undefined }
        ]
      case "tool-calls-cut":
        return []
    }
  }

  private get id(): string {
    return String(this.blocks)
  }

  private begin(kind: "text" | "reasoning"): Parts {
    if (this.open === kind) return []
    const ended = this.end()
    this.open = kind
    this.blocks++
    return [...ended, { type: `${kind}-start`, id: this.id }]
  }

  private end(metadata = {}): Parts {
    if (this.open === undefined) return []
    const type = `${this.open}-end` as const
    this.open = undefined
    return [{ type, id: this.id, metadata }]
  }
}

/** The parts of a stream as those of a whole response. */
const joined = (parts: Parts): Array<Response.PartEncoded> => {
  let text = ""
  return parts.flatMap((part): ReadonlyArray<Response.PartEncoded> => {
    switch (part.type) {
      case "text-delta":
      case "reasoning-delta":
        text += part.delta
        return []
      case "text-end":
      case "reasoning-end": {
        const block = { type: part.type === "text-end" ? "text" : "reasoning", text, metadata: part.metadata } as const
        text = ""
        return [block]
      }
      default:
        return part.type === "tool-call" || part.type === "file" || part.type === "finish" ? [part] : []
    }
  })
}

/** A failure as Effect AI's error, by its reason. The failure goes with it: the classifier takes it as it is. */
const errorOf = (method: string, failure: Provider.EmittedFailure): AiError.AiError => {
  const { hint, message: description, reason } = failure
  const make = REASONS[reason] ?? ((fields) => new AiError.InternalProviderError(fields))
  return Object.assign(
    AiError.make({ module: "Holdfast", method, reason: make({ description }, hint?.retryAfterMs) }),
    {
      failure: { retryable: false, ...failure } satisfies Failure.Failure
    }
  )
}

const invalid = (fields: { readonly description: string }) => new AiError.InvalidRequestError(fields)

/** Effect AI's errors by reason. All other failures are the provider's own. */
const REASONS: {
  readonly [reason in Failure.Reason]?: (
    fields: { readonly description: string },
    retryAfterMs: number | undefined
  ) => AiError.AiErrorReason
} = {
  "rate-limited": (_, ms) => new AiError.RateLimitError(ms === undefined ? {} : { retryAfter: Duration.millis(ms) }),
  "quota-exhausted": () => new AiError.QuotaExhaustedError({}),
  auth: (fields) => new AiError.AuthenticationError({ kind: "Unknown", ...fields }),
  refused: (fields) => new AiError.ContentPolicyError(fields),
  "invalid-response": (fields) => new AiError.InvalidOutputError(fields),
  "context-overflow": invalid,
  "model-unavailable": invalid,
  "bad-request": invalid
}
