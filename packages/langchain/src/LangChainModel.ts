/**
 * Chat models of LangChain that wait out an outage.
 *
 * A model keeps its type and every other member; only the methods that call the provider are made patient, below LangChain's own. So tools,
 * structured output, callbacks, caches, usage and response metadata are those of the model.
 *
 * LangChainModel.M1. Attempts that failed before content give nothing, to callbacks neither; after content there is no other call (rule D4).
 * LangChainModel.M2. There is one patience: the retries of the model's callers are set to 0, a client that makes its own is named by a warning, and an
 *     error that was given up is marked as LangChain marks errors that no middleware is to retry (rule C9).
 * LangChainModel.M3. A stream without an end was cut, and has failed (rule C6). Where models of a kind report no end, only one without content was.
 */
import { type BridgeOptions, cut, type Patient, patience, view, whole } from "holdfast/bridge"
import { CONTENT, isEnd, isLast, reportsEnd } from "./Chunks.ts"
import { HeldTokens } from "./HeldTokens.ts"
import { withoutRetries } from "./UnderlyingRetries.ts"

/** A chat model: `BaseChatModel` of `@langchain/core`. */
export interface AnyModel {
  _llmType(): string
  _generate(messages: never, options: never, runManager?: never): Promise<unknown>
  _streamResponseChunks(messages: never, options: never, runManager?: never): AsyncIterable<unknown>
}

/** Returns the same model with patience. Throws a `HoldfastError` where an option is wrong. */
export const holdfast = <M extends AnyModel>(model: M, options: BridgeOptions = {}): M => {
  const patient = patience(options)
  return patientModels.has(model) ? model : patientOf(model, patient)
}

// --- internal

const patientModels = new WeakSet<object>()

/** What is read of the options of a call. */
interface CallOptions {
  readonly signal?: AbortSignal
}

type Method = (...args: ReadonlyArray<unknown>) => unknown
type Streaming = (messages: unknown, options: CallOptions, runManager?: object) => AsyncIterable<unknown>
type Generating = (messages: unknown, options: CallOptions, runManager?: object) => Promise<unknown>

const patientOf = <M extends AnyModel>(model: M, patient: Patient): M => {
  withoutRetries(model)
  const patientModel = view(model, membersOf(model, patient))
  patientModels.add(patientModel)
  return patientModel
}

/** The methods that call the provider. They run on the model itself, so none of them meets a patient one. */
const membersOf = (model: AnyModel, patient: Patient): object => {
  const generate: Generating = model._generate.bind(model) as never
  return {
    _generate: async (messages: unknown, { signal, ...options }: CallOptions, runManager?: object) => {
      const call = async function* (signal: AbortSignal) {
        const tokens = new HeldTokens(runManager)
        try {
          const response = await generate(messages, single(options, signal), tokens.runManager)
          await tokens.release()
          yield response
        } catch (error) {
          if (tokens.isShown) yield undefined // M1: content, for callbacks
          throw error
        }
      }
      return whole(patient, { signal, call }).catch((error) => Promise.reject(marked(error)))
    },
    ...streaming(model, patient, "_streamResponseChunks"),
    ...streaming(model, patient, "_streamChatModelEvents"),
    ...copying(model, patient, "bindTools"),
    ...copying(model, patient, "withConfig")
  }
}

/** A method that streams. LangChain's own stands for "cannot stream", or streams by another of these, and stays. */
const streaming = (
  model: AnyModel,
  patient: Patient,
  name: "_streamResponseChunks" | "_streamChatModelEvents"
): object => {
  const method: unknown = Reflect.get(model, name)
  if (typeof method !== "function" || method === inherited(model, name)) return {}
  const stream: Streaming = method.bind(model)
  const isContent = CONTENT[name]
  return {
    [name]: (messages: unknown, options: CallOptions, runManager?: object) =>
      settled(
        patient({
          signal: options.signal,
          isContent,
          call: async function* (signal) {
            const tokens = new HeldTokens(runManager)
            let isEmpty = true
            let isEnded = false
            const isCut = () => !isEnded && (isEmpty || reportsEnd(model._llmType())) // M3
            for await (const chunk of stream(messages, single(options, signal), tokens.runManager)) {
              isEnded ||= isEnd(chunk)
              if (isLast(chunk) && isCut()) throw cut()
              isEmpty &&= !isContent(chunk)
              yield chunk
            }
            if (isCut()) throw cut()
            await tokens.release()
          }
        })
      )
  }
}

/** LangChain's own method of a name: that of the class that has `_generateUncached`. */
const inherited = (model: object, name: string): unknown => {
  let owner: object | null = model
  while (owner !== null && !Object.hasOwn(owner, "_generateUncached")) owner = Object.getPrototypeOf(owner)
  return owner === null ? undefined : Reflect.get(owner, name)
}

/** A method that may return another model, which is made patient too. */
const copying = (model: AnyModel, patient: Patient, name: "bindTools" | "withConfig"): object => {
  const method = Reflect.get(model, name) as Method | undefined
  if (method === undefined) return {}
  return {
    [name](this: object, ...args: ReadonlyArray<unknown>): unknown {
      const made = Reflect.apply(method, this, args)
      return isChatModel(made) && !patientModels.has(made) ? patientOf(made, patient) : made
    }
  }
}

const isChatModel = (value: unknown): value is AnyModel =>
  typeof value === "object" && value !== null && "_generate" in value && "_streamResponseChunks" in value

const single = (options: CallOptions, signal: AbortSignal): CallOptions & { readonly maxRetries: number } => ({
  ...options,
  signal,
  maxRetries: 0 // M2
})

/** LangChain's mark of an error: `getRetryable` of `@langchain/core/errors` reads it. */
const RETRYABLE = Symbol.for("langchain.errors.retryable")

/** The elements; an error that was given up is marked (M2). */
async function* settled<A>(elements: AsyncIterable<A>): AsyncGenerator<A, void, undefined> {
  try {
    yield* elements
  } catch (error) {
    throw marked(error)
  }
}

const marked = (error: unknown): unknown =>
  typeof error === "object" && error !== null && Object.isExtensible(error)
    ? Object.defineProperty(error, RETRYABLE, { value: false, configurable: true })
    : error
