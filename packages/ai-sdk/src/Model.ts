/**
 * Models of the AI SDK as Holdfast's own: for the library `holdfast`, and for the kernel.
 *
 * Model.M1. One call is one `doStream`: the AI SDK's retries stand above it and are not used (rule C9).
 * Model.M2. A stream that ends without its `finish` part was cut; the kernel sees no finish either, and the attempt has failed (rule C6).
 * Model.M3. A reasoning block goes back to the model with the signature that it came with, where the provider gives it as Anthropic's does.
 */
import type {
  LanguageModelV2,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart
} from "@ai-sdk/provider"
import { UnsupportedFunctionalityError } from "@ai-sdk/provider"
import type { Provider } from "@holdfast/kernel"
import { FromAsyncIterable } from "@holdfast/providers"
import type { Json, Message, Model, ModelEvent, ModelRequest, Usage } from "holdfast"
import { concealed } from "./internal/ConcealedError.ts"
import * as Files from "./internal/Files.ts"

/** A model of any version of the specification that the AI SDK supports. */
export type AnyModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2
type Part = LanguageModelV4StreamPart | LanguageModelV3StreamPart | LanguageModelV2StreamPart
/** What goes with every call, such as `temperature` or `providerOptions`. */
export type CallOptions = Omit<
  LanguageModelV4CallOptions,
  "prompt" | "tools" | "toolChoice" | "abortSignal" | "includeRawChunks"
>

/** A model of the AI SDK for `holdfast({ model: model(openai("gpt-5")) })`. `options` go with every call. */
export const model =
  (languageModel: AnyModel, options: CallOptions = {}): Model =>
  (request) =>
    events(languageModel, request, options)

/** The same as a provider of the kernel. */
export const provider = (languageModel: AnyModel, options: CallOptions = {}): Provider.Provider["Service"] =>
  providerOf(() => ({ languageModel, options }))

/**
 * A provider of the kernel that chooses the model by the target of each attempt.
 *
 * **Details**
 *
 * What `choose` throws fails the attempt: an unknown model (`AI_NoSuchModelError`) is not tried again. `conceal` removes secrets from the texts of
 * errors, before anything reads them.
 */
export const providerOf = (
  choose: (model: string) => { readonly languageModel: AnyModel; readonly options?: CallOptions },
  conceal?: (text: string) => string
): Provider.Provider["Service"] =>
  FromAsyncIterable.fromAsyncIterable(async function* (request, signal) {
    try {
      const { languageModel, options = {} } = choose(request.target.model)
      yield* events(languageModel, { ...request, signal }, options)
    } catch (error) {
      throw conceal === undefined ? error : concealed(error, conceal)
    }
  })

// --- internal

type Request = Pick<ModelRequest, "messages" | "signal" | "tools"> & { readonly system?: string | undefined }

type Event = Exclude<ModelEvent, string>

async function* events(
  languageModel: AnyModel,
  { messages, signal, system, tools }: Request,
  options: CallOptions
): AsyncGenerator<Event, void, undefined> {
  const call = {
    ...options,
    prompt: promptOf(system, messages, languageModel.specificationVersion),
    abortSignal: signal,
    ...(tools.length === 0
      ? undefined
      : {
          tools: tools.map(({ description, inputSchema, name }) => ({
            type: "function" as const,
            name,
            inputSchema: inputSchema as object,
            ...(description === undefined ? undefined : { description })
          }))
        })
  }
  // The prompts of all versions have the same parts, as far as they are used here.
  const { stream } = await begun(languageModel as LanguageModelV4, call)
  const reader = (stream as ReadableStream<Part>).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const event = eventOf(value)
      if (event !== undefined) yield* event
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

/** What a model does not support, such as a file, it refuses before its request: that is no failure to wait for. */
const begun = async (languageModel: LanguageModelV4, call: LanguageModelV4CallOptions) => {
  try {
    return await languageModel.doStream(call)
  } catch (error) {
    if (!UnsupportedFunctionalityError.isInstance(error)) throw error
    const message =
      `${languageModel.provider}/${languageModel.modelId} cannot take a part of the request: ${error.message} ` +
      "Nothing was sent. Use a model that takes it, or send it in another form."
    throw Object.assign(new Error(message, { cause: error }), { status: 400 })
  }
}

const eventOf = (part: Part): ReadonlyArray<Event> | undefined => {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
      return [{ type: part.type, delta: part.delta }]
    case "reasoning-end": {
      const metadata = part.providerMetadata?.["anthropic"]
      const signature = metadata?.["signature"]
      const redacted = metadata?.["redactedData"]
      return [
        {
          type: "reasoning-end",
          ...(typeof signature === "string" ? { signature } : undefined),
          ...(typeof redacted === "string" ? { redacted } : undefined)
        }
      ]
    }
    case "tool-call":
      // Tools that the provider runs itself are its own.
      if (part.providerExecuted === true) return undefined
      return [{ type: "tool-call", toolCallId: part.toolCallId, toolName: part.toolName, input: inputOf(part.input) }]
    case "error":
      throw part.error
    case "finish":
      return [
        { type: "usage", usage: usageOf(part.usage) },
        { type: "finish", finishReason: reasonOf(part.finishReason) }
      ]
    default:
      return undefined
  }
}

/** Arguments as the AI SDK gives them: JSON as text. Text that is none is the model's mistake, and goes to the tool as it came. */
const inputOf = (text: string): Json => {
  try {
    return JSON.parse(text === "" ? "{}" : text)
  } catch {
    return text
  }
}

type Finish = Extract<Part, { readonly type: "finish" }>

const REASONS = ["stop", "length", "tool-calls", "content-filter"] as const

const reasonOf = (reason: Finish["finishReason"]): (typeof REASONS)[number] | "other" => {
  const unified = typeof reason === "string" ? reason : reason.unified
  return REASONS.find((known) => known === unified) ?? "other"
}

const usageOf = (usage: Finish["usage"]): Usage => {
  const { inputTokens, outputTokens } = usage
  if (typeof inputTokens === "object" && typeof outputTokens === "object")
    return counted({
      inputTokens: inputTokens.total,
      outputTokens: outputTokens.total,
      reasoningTokens: outputTokens.reasoning,
      cachedInputTokens: inputTokens.cacheRead,
      cacheWriteTokens: inputTokens.cacheWrite
    })
  const { cachedInputTokens, reasoningTokens } = usage as {
    readonly cachedInputTokens?: number
    readonly reasoningTokens?: number
  }
  return counted({
    inputTokens: typeof inputTokens === "number" ? inputTokens : undefined,
    outputTokens: typeof outputTokens === "number" ? outputTokens : undefined,
    cachedInputTokens,
    reasoningTokens
  })
}

const counted = (usage: { readonly [K in keyof Usage]: Usage[K] | undefined }): Usage =>
  Object.fromEntries(Object.entries(usage).filter(([, tokens]) => tokens !== undefined))

const promptOf = (
  system: string | undefined,
  messages: ReadonlyArray<Message>,
  version: Files.Version
): LanguageModelV4Prompt => [
  ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
  ...messages.map((message) => messageOf(message, version))
]

const messageOf = (message: Message, version: Files.Version): LanguageModelV4Message => {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.content.map((part) => Files.promptPart(part, version)) }
    case "tool":
      return {
        role: "tool",
        content: message.content.map(({ content, isError, output, toolCallId, toolName }) => ({
          type: "tool-result",
          toolCallId,
          toolName,
          output: content === undefined ? outputOf(output, isError) : Files.resultOutput(content, version)
        }))
      }
    case "assistant":
      return {
        role: "assistant",
        content: message.content.map((part) => {
          switch (part.type) {
            case "text":
              return { type: "text", text: part.text }
            case "tool-call":
              return { type: "tool-call", toolCallId: part.toolCallId, toolName: part.toolName, input: part.input }
            case "reasoning": {
              const { redacted, signature, text } = part
              const anthropic = {
                ...(signature === undefined ? undefined : { signature }),
                ...(redacted === undefined ? undefined : { redactedData: redacted })
              }
              return { type: "reasoning", text, providerOptions: { anthropic } } // M3
            }
          }
        })
      }
  }
}

const outputOf = (output: Json, isError: boolean) =>
  typeof output === "string"
    ? { type: isError ? ("error-text" as const) : ("text" as const), value: output }
    : { type: isError ? ("error-json" as const) : ("json" as const), value: output as never }
