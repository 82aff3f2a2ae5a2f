/**
 * Chat models of LangChain that wait out an outage.
 *
 * A model keeps its type and every other member; only the methods that call the provider are made patient, below LangChain's own. So
 * tools, structured output, callbacks, caches, usage and response metadata are those of the model.
 *
 * Attempts that failed before content give nothing, to callbacks neither; after content there is no other call (rule D4). A stream
 * without an end was cut, and has failed (rule C6). Where models of a kind report no end, only one without content was.
 *
 * There is one patience: the retries of the model's callers are set to 0, a client that makes its own is named by a warning, and an error
 * that was given up is marked as LangChain marks errors that no middleware is to retry (rule C9).
 */
import { type BridgeOptions, cut, type Patient, patience, view, whole, isFilled } from "holdfast/bridge"

/** A chat model: `BaseChatModel` of `@langchain/core`. */
export interface AnyLangChainModel {
  _llmType(): string
  _generate(messages: never, options: never, runManager?: never): Promise<unknown>
  _streamResponseChunks(messages: never, options: never, runManager?: never): AsyncIterable<unknown>
}

/** Returns the same model with patience. Throws a `HoldfastError` where an option is wrong. */
export const holdfast = <M extends AnyLangChainModel>(model: M, options: BridgeOptions = {}): M =>
  patientOf(model, marking(patience(options)))

type NewToken = (token: string, ...rest: ReadonlyArray<unknown>) => Promise<unknown>

/** The run manager of one attempt: it holds tokens back from callbacks until one of them is content. An attempt that fails before gives them nothing. */
export class HeldTokens {
  /** Whether callbacks have content. */
  isShown = false
  /** For the model, in place of LangChain's. */
  readonly runManager: object | undefined
  private held: Array<() => Promise<unknown>> = []

  constructor(runManager: object | undefined) {
    if (runManager === undefined) return
    const newToken: NewToken = (Reflect.get(runManager, "handleLLMNewToken") as NewToken).bind(runManager)
    this.runManager = Object.create(runManager, {
      handleLLMNewToken: {
        value: async (token: string, ...rest: ReadonlyArray<unknown>): Promise<void> => {
          this.held.push(() => newToken(token, ...rest))
          const { chunk = {} } = (rest.at(-1) ?? {}) as { readonly chunk?: unknown }
          if (this.isShown || token !== "" || isContentChunk(chunk)) await this.release()
        }
      }
    })
  }

  /** Lets callbacks have what was held back. */
  async release(): Promise<void> {
    const held = this.held
    this.held = []
    this.isShown ||= held.length > 0
    for (const tell of held) await tell()
  }
}

// Reads the chunks and events of LangChain's streams: which are content, and which report the end of a response.

type Part = string | { readonly type?: string; readonly text?: string }

/** What is read of a `ChatGenerationChunk`. */
interface Chunk {
  readonly text?: string
  readonly generationInfo?: object
  readonly message?: {
    readonly content?: string | ReadonlyArray<Part>
    readonly tool_call_chunks?: ReadonlyArray<unknown>
    readonly additional_kwargs?: object
    readonly response_metadata?: object
  }
}

/** What is read of a `ChatModelStreamEvent`. */
interface Event {
  readonly event: string
  readonly content?: { readonly type: string }
  /** Why the response ended; absent: the provider did not report it. */
  readonly reason?: string
}

/** Output that integrations give beside `content`. */
const BESIDE = ["reasoning_content", "reasoning", "function_call", "tool_calls", "audio", "refusal", "tool_outputs"]

/** Whether a chunk is content. */
export const isContentChunk = (chunk: unknown): boolean => {
  const { message: { additional_kwargs: beside = {}, content = "", tool_call_chunks: calls = [] } = {}, text = "" } =
    chunk as Chunk
  const parts = typeof content === "string" ? [text, content] : [text, ...content]
  return isFilled(calls) || parts.some(isContentPart) || BESIDE.some((name) => isFilled(Reflect.get(beside, name)))
}

const isContentPart = (part: Part): boolean =>
  typeof part === "string" ? part !== "" : part.type !== "text" || part.text !== ""

const isContentEvent = (element: unknown): boolean => {
  const { content, event: type } = element as Event
  if (type === "content-block-start") return content?.type !== "text" && content?.type !== "reasoning"
  return type === "content-block-delta" || type === "content-block-finish"
}

/** By the method that streams. */
export const CONTENT = { _streamResponseChunks: isContentChunk, _streamChatModelEvents: isContentEvent } as const

/** The names of a finish reason in chat completions, Anthropic's messages, Responses, Gemini, Bedrock and Ollama. */
const ENDS = ["finish_reason", "stop_reason", "status", "finishReason", "stopReason", "done_reason"]

/** Values of those names in a response that goes on. */
const UNENDED = new Set(["queued", "in_progress"])

/** Whether a chunk or event reports why its response ended. */
export const isEnd = (element: unknown): boolean => {
  const { generationInfo, message } = element as Chunk
  if (isLast(element)) return typeof (element as Event).reason === "string"
  const given = [generationInfo, message?.response_metadata, message?.additional_kwargs]
  const reasons = given.flatMap((values = {}) => ENDS.map((name): unknown => Reflect.get(values, name)))
  return reasons.some((reason) => typeof reason === "string" && !UNENDED.has(reason))
}

/** Whether it is the last event of a response, which LangChain makes where the stream ends, for whatever reason. */
const isLast = (element: unknown): boolean => (element as Event).event === "message-finish"

/** Whether models of a kind are known to report the end of each response. */
const reportsEnd = (llmType: string): boolean => ["openai", "anthropic"].includes(llmType)

// --- internal

const patientModels = new WeakSet<object>()

/** The model, whose methods that call the provider run on the given model itself, so that none of them meets a patient one. */
const patientOf = <M extends AnyLangChainModel>(model: M, patient: Patient): M => {
  if (patientModels.has(model)) return model
  withoutRetries(model)
  const patientModel = view(model, {
    _generate: generating(model, patient),
    ...streaming(model, patient, "_streamResponseChunks"),
    ...streaming(model, patient, "_streamChatModelEvents"),
    ...copying(model, patient, "bindTools"),
    ...copying(model, patient, "withConfig")
  })
  patientModels.add(patientModel)
  return patientModel
}

type Method<A> = (messages: unknown, options: { readonly signal?: AbortSignal }, runManager?: object) => A

const generating = (model: AnyLangChainModel, patient: Patient): Method<Promise<unknown>> => {
  const generate: Method<Promise<unknown>> = model._generate.bind(model) as never
  return (messages, { signal, ...options }, runManager) => {
    const call = async function* (signal: AbortSignal) {
      const tokens = new HeldTokens(runManager)
      try {
        const response = await generate(messages, single(options, signal), tokens.runManager)
        await tokens.release()
        yield response
      } catch (error) {
        if (tokens.isShown) yield undefined // Content, for callbacks
        throw error
      }
    }
    return whole(patient, { signal, call })
  }
}

/** A method that streams. LangChain's own stands for "cannot stream", or streams by another of these, and stays. */
const streaming = (model: AnyLangChainModel, patient: Patient, name: keyof typeof CONTENT): object => {
  const method: unknown = Reflect.get(model, name)
  if (typeof method !== "function" || method === inherited(model, name)) return {}
  const stream: Method<AsyncIterable<unknown>> = method.bind(model)
  const isContent = CONTENT[name]
  const streamed: Method<AsyncIterable<unknown>> = (messages, options, runManager) => {
    const call = async function* (signal: AbortSignal) {
      const tokens = new HeldTokens(runManager)
      let isWhole = false
      for await (const chunk of stream(messages, single(options, signal), tokens.runManager)) {
        isWhole ||= isEnd(chunk) || (isContent(chunk) && !reportsEnd(model._llmType()))
        if (isLast(chunk) && !isWhole) throw cut()
        yield chunk
      }
      if (!isWhole) throw cut()
      await tokens.release()
    }
    return patient({ signal: options.signal, isContent, call })
  }
  return { [name]: streamed }
}

/** LangChain's own method of a name: that of the class that has `_generateUncached`. */
const inherited = (model: object, name: string): unknown => {
  let owner: object | null = model
  while (owner !== null && !Object.hasOwn(owner, "_generateUncached")) owner = Object.getPrototypeOf(owner)
  return owner === null ? undefined : Reflect.get(owner, name)
}

/** A method that may return another model, which is made patient too. */
const copying = (model: AnyLangChainModel, patient: Patient, name: "bindTools" | "withConfig"): object => {
  const method: unknown = Reflect.get(model, name)
  if (typeof method !== "function") return {}
  return {
    [name](this: object, ...args: ReadonlyArray<unknown>): unknown {
      const made: unknown = Reflect.apply(method, this, args)
      return Reflect.has(Object(made), "_streamResponseChunks") ? patientOf(made as AnyLangChainModel, patient) : made
    }
  }
}

const single = (options: object, signal: AbortSignal) => ({ ...options, signal, maxRetries: 0 }) // M2

/** Marks the errors that were given up (M2), as `getRetryable` of `@langchain/core/errors` reads it. */
const marking = (patient: Patient): Patient =>
  async function* (call) {
    try {
      yield* patient(call)
    } catch (error) {
      if (typeof error === "object" && error !== null && Object.isExtensible(error))
        Object.defineProperty(error, Symbol.for("langchain.errors.retryable"), { value: false, configurable: true })
      throw error
    }
  }

/**
 * Sets the retries of a model's callers to 0, those of models inside it too: two patiences would multiply. A warning names a client that makes
 * retries of its own.
 */
const withoutRetries = (model: object): void => {
  for (const part of [model, ...Object.values(model)]) if (isRetrying(part?.caller)) part.caller.maxRetries = 0
  for (const [name, client] of Object.entries(model))
    if (name !== "caller" && isRetrying(client) && client.maxRetries > 0)
      // oxlint-disable-next-line no-console -- a mistake of the program, at its start, to the people who write it.
      console.warn(
        `@holdfast/langchain: "${name}" of ${model.constructor.name} makes ${client.maxRetries} retries of its own. Set its maxRetries to 0: Holdfast makes the retries.`
      )
}

/** Whether it is LangChain's `AsyncCaller` or an SDK's client: an instance of a class with retries. Arguments of a constructor are plain. */
const isRetrying = (value: unknown): value is { maxRetries: number } =>
  typeof value === "object" &&
  value !== null &&
  Object.getPrototypeOf(value) !== Object.prototype &&
  typeof Reflect.get(value, "maxRetries") === "number"
