/**
 * A middleware of the AI SDK that gives every call of a model the patience of a turn.
 *
 * A call resolves when its response has content; the attempts that failed before it give nothing (rule D4). After content there is no
 * other call. A stream that ends without its `finish` part, or with that of a closed connection, was cut, and has failed (rule C6).
 *
 * The error of a call that was given up is not retryable for the AI SDK: its `maxRetries` makes no further call. With `park` the same
 * prompt, tools and settings of the same model are the same call: it goes on when it is made again after a `CallParked`.
 */
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Middleware,
  type LanguageModelV4StreamPart,
  type LanguageModelV4StreamResult
} from "@ai-sdk/provider"
import { defined } from "@holdfast/wire"
import { cut, patience, type PatienceOptions } from "holdfast"
import { isContentPart, whole } from "holdfast/bridge"
import { isCut } from "./internal/FinishPart.ts"

/**
 * Makes the middleware, for `wrapLanguageModel`. Throws a `HoldfastError` where an option is wrong.
 *
 * **Example** (Any model of the AI SDK, with hours of patience)
 *
 * ```ts
 * import { openai } from "@ai-sdk/openai"
 * import { holdfast } from "@holdfast/ai-sdk"
 * import { streamText, wrapLanguageModel } from "ai"
 *
 * const model = wrapLanguageModel({ model: openai("gpt-5"), middleware: holdfast({ retry: "overnight" }) })
 * const { textStream } = streamText({ model, prompt: "How is it?" })
 * ```
 */
export const holdfast = (options: PatienceOptions = {}): LanguageModelV4Middleware => {
  const patient = patience(options)
  /** With `park` the call has a name, by which it is found again. */
  const named = async (model: LanguageModelV4, params: LanguageModelV4CallOptions) =>
    options.park === undefined ? undefined : { id: await idOf(model, params) }
  return {
    specificationVersion: "v4",
    wrapGenerate: async ({ model, params }) => {
      const response = whole(patient, {
        ...(await named(model, params)),
        target: { provider: model.provider, model: model.modelId },
        signal: params.abortSignal,
        call: async function* (abortSignal) {
          yield await model.doGenerate({ ...params, abortSignal })
        }
      })
      return settled(response)
    },
    wrapStream: async ({ model, params }) => {
      let answered: LanguageModelV4StreamResult | undefined
      const parts = patient({
        ...(await named(model, params)),
        target: { provider: model.provider, model: model.modelId },
        signal: params.abortSignal,
        isContent: isContentPart,
        call: async function* (abortSignal) {
          answered = await model.doStream({ ...params, abortSignal })
          yield* partsOf(answered.stream)
        }
      })
      let first: IteratorResult<LanguageModelV4StreamPart, unknown> | undefined = await settled(parts.next())
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        pull: async (controller) => {
          try {
            const next = first ?? (await settled(parts.next()))
            first = undefined
            if (next.done === true) controller.close()
            else controller.enqueue(next.value)
          } catch (error) {
            controller.error(error)
          }
        },
        cancel: async () => void (await parts.return())
      })
      return { ...answered, stream }
    }
  }
}

// --- internal

/** The parts of a response. An `error` part fails the stream, and so does an end without `finish`. */
async function* partsOf(
  stream: ReadableStream<LanguageModelV4StreamPart>
): AsyncGenerator<LanguageModelV4StreamPart, void, undefined> {
  const reader = stream.getReader()
  let isFinished = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      if (value.type === "error") throw value.error
      if (value.type === "finish") {
        if (isCut(value)) break
        isFinished = true
      }
      yield value
    }
    if (!isFinished) throw cut()
  } finally {
    void reader.cancel().catch(() => {})
  }
}

/** What the AI SDK takes for a reason to call again is marked as none. */
const settled = async <A>(promise: Promise<A>): Promise<A> => {
  try {
    return await promise
  } catch (error) {
    throw final(error)
  }
}

const final = (error: unknown): unknown => {
  if (!APICallError.isInstance(error)) return error
  const { cause, data, message, requestBodyValues, responseBody, responseHeaders, statusCode, url } = error
  return new APICallError({
    message,
    url,
    requestBodyValues,
    isRetryable: false,
    cause: cause ?? error,
    data,
    ...defined({ statusCode, responseHeaders, responseBody })
  })
}

/** The id of a call by what is asked, 64 hexadecimal digits. Headers are left out: tracing changes them from call to call. */
const idOf = async (
  { modelId, provider }: Pick<LanguageModelV4, "modelId" | "provider">,
  { abortSignal: _abortSignal, headers: _headers, includeRawChunks: _raw, ...params }: LanguageModelV4CallOptions
): Promise<string> => {
  const text = JSON.stringify({ modelId, provider, params }, inOrder)
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
}

/** Keys in the order of the alphabet, and bytes as text: each byte is another character. */
const inOrder = (_key: string, value: unknown): unknown => {
  if (value instanceof Uint8Array) return new TextDecoder("latin1").decode(value)
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
