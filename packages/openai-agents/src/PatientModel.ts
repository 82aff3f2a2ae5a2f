/**
 * Models of the OpenAI Agents SDK that wait out an outage.
 *
 * A model and a provider of models keep their type and every other member: nothing of a request or a response is converted.
 *
 * PatientModel.M1. Attempts that failed before content give nothing; after content there is no other call (rule D4).
 * PatientModel.M2. There is one patience: the OpenAI client's own retries are off for each call, and the runner makes none of an error that Holdfast gave
 *     up, whatever `modelSettings.retry` is (rule C9).
 * PatientModel.M3. A stream without its `response_done`, or of chat chunks without a finish reason, was cut and has failed (rule C6).
 */
import { cut, type Patient, patience } from "holdfast"
import type { PatienceOptions } from "./index.ts"

/** A model: `Model` of `@openai/agents-core`. */
export interface AnyModel {
  getResponse(request: never): Promise<unknown>
  getStreamedResponse(request: never): AsyncIterable<unknown>
  getRetryAdvice?(args: never): unknown
}

/** A provider of models: `ModelProvider` of `@openai/agents-core`. */
export interface AnyModelProvider {
  getModel(modelName?: string): Promise<AnyModel> | AnyModel
}

/** Returns the same model, or provider of models, with patience. Throws a `HoldfastError` where an option is wrong. */
export const holdfast = <M extends AnyModel | AnyModelProvider>(model: M, options: PatienceOptions = {}): M => {
  const patient = patience(options)
  return "getModel" in model ? view(model, patientProvider(model, patient)) : view(model, patientModel(model, patient))
}

// --- internal

/** What is read of a request. */
interface Request {
  readonly signal?: AbortSignal
  readonly _internal?: object
}

/** What is read of an event. `event` is what the provider sent. */
interface Event {
  readonly type: string
  readonly delta?: string
  readonly event?: RawEvent
}

/** A chunk of chat completions, or an event of another format. */
interface RawEvent {
  readonly type?: string
  readonly item?: { readonly type?: string }
  readonly choices?: ReadonlyArray<{ readonly finish_reason?: string | null; readonly delta?: object }>
}

const patientProvider = (provider: AnyModelProvider, patient: Patient): AnyModelProvider => ({
  getModel: async (name) => {
    const model = await provider.getModel(name)
    return view(model, patientModel(model, patient))
  }
})

const patientModel = (model: AnyModel, patient: Patient): AnyModel => ({
  getResponse: async (request: Request) => {
    const responses = patient({
      signal: request.signal,
      isContent: () => true,
      call: async function* (signal) {
        yield await model.getResponse(single(request, signal))
      }
    })
    for await (const response of responses) return response
    throw cut()
  },
  getStreamedResponse: (request: Request) =>
    patient({
      signal: request.signal,
      isContent,
      call: (signal) => whole(model.getStreamedResponse(single(request, signal)) as AsyncIterable<Event>)
    }),
  getRetryAdvice: async (args: never) => {
    const advice = (await model.getRetryAdvice?.(args)) as { readonly normalized?: object } | undefined
    const normalized = { ...advice?.normalized, isAbort: true } // the runner's veto (M2)
    return { ...advice, suggested: false, reason: "Holdfast made the retries.", normalized }
  }
})

/** The request of one attempt. `_internal` stays the same object: the runner knows it by identity, and counts the usage of failures by it. */
const single = (request: Request, signal: AbortSignal): never =>
  ({ ...request, signal, _internal: Object.assign(request._internal ?? {}, { runnerManagedRetry: true }) }) as never // M2

/** The events of a whole response (M3). */
async function* whole(events: AsyncIterable<Event>): AsyncGenerator<Event, void, undefined> {
  let isDone = false
  let isChat = false
  let isFinished = false
  for await (const event of events) {
    for (const { finish_reason } of event.event?.choices ?? []) {
      isChat = true
      isFinished ||= typeof finish_reason === "string"
    }
    if (event.type === "response_done") {
      isDone = true
      if (isChat && !isFinished) throw cut()
    }
    yield event
  }
  if (!isDone) throw cut()
}

const isContent = ({ delta, event, type }: Event): boolean => {
  if (type === "output_text_delta") return delta !== ""
  if (type !== "model") return type === "response_done"
  if (/[._-]delta$/.test(event?.type ?? "") || hasFile(event)) return true
  return (event?.choices ?? []).some(({ delta = {} }) => hasContent(delta))
}

/** Whether an event has a file of the model: a draft or the image of the Responses API, or a file of the AI SDK. */
const hasFile = ({ item, type = "" }: RawEvent = {}): boolean =>
  /^(?:file|response\.image_generation_call\.partial_image)$/.test(type) ||
  (type === "response.output_item.done" && item?.type === "image_generation_call")

/** Whether the delta of a chat chunk has more than a role: text, a refusal, reasoning, audio or calls of tools. */
const hasContent = (delta: object): boolean =>
  Object.entries(delta).some(
    ([key, value]) =>
      key !== "role" &&
      value !== null &&
      value !== undefined &&
      value !== "" &&
      !(Array.isArray(value) && value.length === 0)
  )

/** `target` with members in place of its own. The others are called on `target` itself: the SDK's classes have private fields. */
const view = <T extends object>(target: T, members: object): T =>
  new Proxy(target, {
    get: (_, key) => {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === "function" ? value.bind(target) : value
    }
  })
