/**
 * Models of the OpenAI Agents SDK that wait out an outage.
 *
 * A model and a provider of models keep their type and every other member: nothing of a request or a response is converted.
 *
 * Attempts that failed before content give nothing; after content there is no other call (rule D4). A stream without its
 * `response_done`, or of chat chunks without a finish reason, was cut and has failed (rule C6).
 *
 * There is one patience: the OpenAI client's own retries are off for each call, and the runner makes none of an error that Holdfast gave
 * up, whatever `modelSettings.retry` is (rule C9).
 */
import { type BridgeOptions, cut, isContentPart, isFilled, type Patient, patience, view, whole } from "holdfast/bridge"

/** A model: `Model` of `@openai/agents-core`. */
export interface AnyAgentModel {
  getResponse(request: never): Promise<unknown>
  getStreamedResponse(request: never): AsyncIterable<unknown>
  getRetryAdvice?(args: never): unknown
}

/** A provider of models: `ModelProvider` of `@openai/agents-core`. */
export interface AnyModelProvider {
  getModel(modelName?: string): Promise<AnyAgentModel> | AnyAgentModel
}

/** Returns the same model, or provider of models, with patience. Throws a `HoldfastError` where an option is wrong. */
export const holdfast = <M extends AnyAgentModel | AnyModelProvider>(model: M, options: BridgeOptions = {}): M => {
  const patient = patience(options)
  return view(model, "getModel" in model ? patientProvider(model, patient) : patientModel(model, patient), "bound")
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

/** A chunk of chat completions, an event of the Responses API, or a part of the AI SDK. */
interface RawEvent {
  readonly type?: string
  readonly delta?: unknown
  readonly item?: { readonly type?: string; readonly summary?: unknown }
  readonly choices?: ReadonlyArray<{ readonly finish_reason?: string | null; readonly delta?: object }>
}

const patientProvider = (provider: AnyModelProvider, patient: Patient): AnyModelProvider => ({
  getModel: async (name) => {
    const model = await provider.getModel(name)
    return view(model, patientModel(model, patient), "bound")
  }
})

const patientModel = (model: AnyAgentModel, patient: Patient): AnyAgentModel => ({
  getResponse: (request: Request) =>
    whole(patient, {
      signal: request.signal,
      call: async function* (signal) {
        yield await model.getResponse(single(request, signal))
      }
    }),
  getStreamedResponse: (request: Request) =>
    patient({
      signal: request.signal,
      isContent,
      call: (signal) => finished(model.getStreamedResponse(single(request, signal)) as AsyncIterable<Event>)
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

/** The events of a whole response. */
async function* finished(events: AsyncIterable<Event>): AsyncGenerator<Event, void, undefined> {
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

const isContent = ({ delta, event = {}, type }: Event): boolean => {
  if (type === "output_text_delta") return delta !== ""
  if (type !== "model") return type === "response_done"
  const { choices = [], item, type: raw = "" } = event
  if (raw === "response.output_item.done") return item?.type !== "reasoning" || isFilled(item.summary)
  if (/[._]delta$|\.partial_image$/.test(raw)) return event.delta !== "" // of any provider
  if (raw !== "") return isContentPart({ ...event, type: raw })
  return choices.some(({ delta = {} }) =>
    Object.entries(delta).some(([key, value]) => key !== "role" && isFilled(value))
  )
}
