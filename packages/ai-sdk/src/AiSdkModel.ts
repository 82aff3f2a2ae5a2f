/**
 * Models of the AI SDK as Holdfast's own: for the library `holdfast`, and for the kernel.
 *
 * One call is one `doStream`: the AI SDK's retries stand above it and are not used (rule C9). A stream that ends without its `finish`
 * part, or with that of a closed connection, was cut, and the attempt has failed (rule C6).
 *
 * Reasoning and tool calls go back to a model with the metadata that they came with: signatures of Anthropic, thought signatures of Google,
 * ids of OpenAI's items. They stand in the message, so they survive the process.
 */
import type * as AiSdk from "@ai-sdk/provider"
import { UnsupportedFunctionalityError, APICallError } from "@ai-sdk/provider"
import type { Provider } from "@holdfast/kernel"
import { FromAsyncIterable, ToolArguments } from "@holdfast/providers"
import { cut, type Json, type Message, type Model, type ModelRequest, type Usage } from "holdfast"
import {
  argumentsOf,
  type Event,
  Metadata,
  type PartNames,
  promptOf as prompt,
  ResponseReader,
  usageOf
} from "holdfast/bridge"
import { defined } from "@holdfast/wire"
import * as Files from "./internal/Files.ts"
import { type FinishPart, isCut } from "./internal/FinishPart.ts"
import * as Record from "effect/Record"

/** A model of any version of the specification that the AI SDK supports. */
export type AnyModel = AiSdk.LanguageModelV4 | AiSdk.LanguageModelV3 | AiSdk.LanguageModelV2

/** What goes with every call, such as `temperature` or `providerOptions`. */
export type ModelCallOptions = Omit<
  AiSdk.LanguageModelV4CallOptions,
  "prompt" | "tools" | "toolChoice" | "abortSignal" | "includeRawChunks"
>

/** A model of the AI SDK for `holdfast({ model: model(openai("gpt-5")) })`. `options` go with every call. */
export const model =
  (languageModel: AnyModel, options: ModelCallOptions = {}): Model =>
  (request) =>
    events(languageModel, request, options)

/** The same as a provider of the kernel. */
export const provider = (languageModel: AnyModel, options: ModelCallOptions = {}): Provider.Provider["Service"] =>
  providerOf(() => ({ languageModel, options }))

/**
 * A provider of the kernel that chooses the model by the target of each attempt.
 *
 * **Details**
 *
 * What `choose` throws fails the attempt: an unknown model (`AI_NoSuchModelError`) is not tried again. `conceal` removes secrets from the texts of
 * errors; what they are is read of them as they came.
 */
export const providerOf = (
  choose: (model: string) => { readonly languageModel: AnyModel; readonly options?: ModelCallOptions },
  conceal?: (text: string) => string
): Provider.Provider["Service"] =>
  FromAsyncIterable.fromAsyncIterable(
    async function* (request, signal) {
      const { languageModel, options = {} } = choose(request.target.model)
      yield* events(languageModel, { ...request, signal }, options)
    },
    conceal && ((error) => concealed(error, conceal))
  )

// Copies of errors without secrets: endpoints often quote the key that they reject.

/** The error with its texts concealed, five causes deep. What an endpoint was sent is left out. */
export const concealed = (error: unknown, conceal: (text: string) => string, depth = 5): unknown => {
  if (typeof error === "string") return conceal(error)
  if (typeof error !== "object" || error === null) return error
  if (!(error instanceof Error)) return plain(error, conceal)
  const cause = depth === 0 ? undefined : concealed(error.cause, conceal, depth - 1)
  if (APICallError.isInstance(error)) {
    const { isRetryable, message, responseBody, responseHeaders, statusCode, url } = error
    return new APICallError({
      message: conceal(message),
      url: conceal(url),
      requestBodyValues: {},
      isRetryable,
      cause,
      ...defined({
        statusCode,
        responseBody: responseBody && conceal(responseBody),
        responseHeaders: responseHeaders && Record.map(responseHeaders, (value) => conceal(value))
      })
    })
  }
  const { code, status, statusCode, type } = error as {
    readonly [field in "code" | "status" | "statusCode" | "type"]?: unknown
  }
  const copy = Object.assign(new Error(conceal(error.message), { cause }), defined({ code, status, statusCode, type }))
  return Object.defineProperty(copy, "name", { value: error.name })
}

// --- internal

type Request = Pick<ModelRequest, "messages" | "signal" | "tools"> & { readonly system?: string | undefined }

async function* events(
  languageModel: AnyModel,
  { messages, signal, system, tools }: Request,
  options: ModelCallOptions
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
  const { stream } = await begun(languageModel as AiSdk.LanguageModelV4, call)
  const reader = (stream as ReadableStream<Part>).getReader()
  const response = new ResponseReader(names)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw cut() // Without an event the library would take the response for an empty answer
      if (value.type === "error") throw value.error
      for (const event of response.read(value)) {
        yield event
        if (event.type === "finish") return
      }
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

/** What a model does not support, such as a file, it refuses before its request: that is no failure to wait for. */
const begun = async (languageModel: AiSdk.LanguageModelV4, call: AiSdk.LanguageModelV4CallOptions) => {
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

/** A part of a response, of any version. */
type Part = AiSdk.LanguageModelV4StreamPart | AiSdk.LanguageModelV3StreamPart | AiSdk.LanguageModelV2StreamPart

/** Where a part has what is read of it. */
const names: PartNames<Part> = {
  // Files of version 2 have none.
  metadata: (part) => ("providerMetadata" in part ? (part.providerMetadata as Metadata.Metadata) : undefined),
  call: ({ input, toolCallId, toolName }) => ToolArguments.toCall({ toolCallId, toolName, text: input, wasCut: false }),
  files: Files.ofResponse,
  finish: (part) =>
    isCut(part)
      ? undefined
      : {
          reason: typeof part.finishReason === "string" ? part.finishReason : part.finishReason.unified,
          usage: countsOf(part.usage)
        }
}

/** Version 2 has plain numbers. */
const countsOf = (usage: FinishPart["usage"]): Usage => {
  const { inputTokens, outputTokens } = usage
  if (typeof inputTokens === "object" && typeof outputTokens === "object") return usageOf({ inputTokens, outputTokens })
  const { cachedInputTokens, reasoningTokens } = usage as Pick<Usage, "cachedInputTokens" | "reasoningTokens">
  return defined({
    inputTokens: typeof inputTokens === "number" ? inputTokens : undefined,
    outputTokens: typeof outputTokens === "number" ? outputTokens : undefined,
    cachedInputTokens,
    reasoningTokens
  })
}

/** The prompt of a request. */
const promptOf = (
  system: string | undefined,
  messages: ReadonlyArray<Message>,
  version: Files.Version
): AiSdk.LanguageModelV4Prompt =>
  // Each role has the parts that the AI SDK has for it.
  prompt(system, messages, {
    text: ({ text, type }) => ({ type, text }),
    file: (part) => ({ ...Files.promptPart(part, version), ...optionsOf(part) }),
    reasoning: (part) => ({ type: part.type, text: part.text, ...optionsOf(part) }),
    "tool-call": (part) => {
      const { toolCallId, toolName, type } = part
      return { type, toolCallId, toolName, input: argumentsOf(part), ...optionsOf(part) }
    },
    "tool-result": ({ content, isError, output, toolCallId, toolName, type }) => ({
      type,
      toolCallId,
      toolName,
      output: content === undefined ? outputOf(output, isError) : Files.resultOutput(content, version)
    })
  }) as AiSdk.LanguageModelV4Prompt

const outputOf = (output: Json, isError: boolean) =>
  typeof output === "string"
    ? { type: isError ? "error-text" : "text", value: output }
    : { type: isError ? "error-json" : "json", value: output }

/** What a part brings back to its provider. */
const optionsOf = (part: Metadata.Proof): object => {
  const providerOptions = Metadata.metadataOf(part)
  return Object.keys(providerOptions).length === 0 ? {} : { providerOptions }
}

/** An error part of a stream: JSON of the endpoint. */
const plain = (error: object, conceal: (text: string) => string): unknown => {
  try {
    return JSON.parse(conceal(JSON.stringify(error)))
  } catch {
    return new Error("An error that is no JSON")
  }
}
