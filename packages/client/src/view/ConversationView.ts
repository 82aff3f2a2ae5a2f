/**
 * Folds the events of a conversation into what a screen shows.
 *
 * A view is an immutable value. An event returns the next view; what the event did not change is the same object, so a delta costs one
 * append to a text, however long the history is. Nothing here reads a clock. `retry.dueAt` is by this client's clock, once
 * `withClockSkew` was given the difference.
 *
 * A view that was kept over a reconnect, and a new one over the same events, show the same. Only text that became void while a client was
 * away is missing in `voided`, and a wait whose time is over may be gone.
 */
import type { TurnEvent } from "@holdfast/wire"

/** An event of the history, in the order in which a screen shows it. Calls and results of tools are in its messages. */
export type HistoryEvent = Exclude<
  TurnEvent.PersistedEvent,
  TurnEvent.ToolCall | TurnEvent.ToolResult | TurnEvent.UsageEvent
>

/** Text or reasoning that is not finished. */
export interface TextInProgress {
  readonly type: "text" | "reasoning"
  readonly text: string
}

/** A part of a response that is not finished: text, reasoning, or a file of the model. */
export type PartInProgress = TextInProgress | TurnEvent.FileEvent["file"]

/** The response in progress. Its message replaces it. */
export interface StepInProgress {
  readonly turnId: string
  /** 0-based; absent where the stream began behind the step's beginning. */
  readonly step: number | undefined
  /** `provider/model`. */
  readonly target: string | undefined
  readonly parts: ReadonlyArray<PartInProgress>
}

/** A tool call of the step in progress. The message with the results replaces all of them. */
export interface ToolCallInProgress {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: TurnEvent.ToolCall["input"]
  readonly state: "running" | "succeeded" | "failed"
  /** Present once the call has ended. */
  readonly output: TurnEvent.ToolResult["output"] | undefined
}

/** The wait in progress: with `asks`, for a person; the turn gives up at `retryAt` then, or calls of tools count as refused. */
export interface ShownRetry extends Omit<TurnEvent.ProviderRetry, "type" | "conversationId" | "turnId"> {
  readonly turnId: string
  /** `retryAt` by this client's clock: what a countdown counts to. */
  readonly dueAt: number
}

/** Content that was shown and is void. It stays until the step has new content, or ends. */
export interface VoidedStep {
  readonly turnId: string
  readonly step: number
  /** Why, for a person. */
  readonly message: string
  /** What this view had shown of it. */
  readonly parts: ReadonlyArray<PartInProgress>
}

/** The newest turn that has begun. */
export interface LatestTurn {
  readonly turnId: string
  readonly status: "running" | TurnEvent.TurnStatus
  /** The event of its end: status, totals, error, report. */
  readonly end: TurnEvent.TurnEnd | undefined
}

/** What a screen shows of a conversation. */
export interface ConversationView {
  /** `retrying`: the turn waits, for a time or for a person (`retry.asks`). */
  readonly status: "idle" | "running" | "retrying"
  /** `provider/model` of the newest step. A view that began later has that of the newest message. */
  readonly model: string | undefined
  readonly turn: LatestTurn | undefined
  /** What is finished: messages, errors, voided steps, changes of the model, ends of turns. */
  readonly history: ReadonlyArray<HistoryEvent>
  readonly progress: StepInProgress | undefined
  readonly toolCalls: ReadonlyArray<ToolCallInProgress>
  readonly retry: ShownRetry | undefined
  readonly voided: VoidedStep | undefined
  /** Tool servers that are not up. With `until` the turn waits for them. */
  readonly missingTools: TurnEvent.ToolsMissing | undefined
  /** The server's clock minus this client's, in milliseconds. */
  readonly clockSkewMs: number
}

/** The view before the first event. */
export const empty: ConversationView = {
  status: "idle",
  model: undefined,
  turn: undefined,
  history: [],
  progress: undefined,
  toolCalls: [],
  retry: undefined,
  voided: undefined,
  missingTools: undefined,
  clockSkewMs: 0
}

/**
 * The view after an event.
 *
 * **Example** (A terminal's loop)
 *
 * ```ts
 * let view = ConversationView.empty
 * for await (const event of events) {
 *   view = ConversationView.apply(view, event)
 *   draw(view)
 * }
 * ```
 */
export const apply = (view: ConversationView, event: TurnEvent.TurnEvent): ConversationView => {
  if (isQueuedEnd(event)) return view
  const next = changed(view, event)
  return isOfHistory(event) ? { ...next, history: [...next.history, event] } : next
}

/** The view after many events. The history is copied once, so use it for a conversation that is loaded. */
export const applyAll = (view: ConversationView, events: Iterable<TurnEvent.TurnEvent>): ConversationView => {
  const added: Array<HistoryEvent> = []
  let next = view
  for (const event of events) {
    if (isQueuedEnd(event)) continue
    next = changed(next, event)
    if (isOfHistory(event)) added.push(event)
  }
  return added.length === 0 ? next : { ...next, history: [...next.history, ...added] }
}

/** The view with the difference of the clocks: the server's minus this client's, in milliseconds. */
export const withClockSkew = (view: ConversationView, clockSkewMs: number): ConversationView =>
  view.clockSkewMs === clockSkewMs
    ? view
    : {
        ...view,
        clockSkewMs,
        retry: view.retry && { ...view.retry, dueAt: view.retry.retryAt - clockSkewMs }
      }

/**
 * The view of a connection that begins: call it after each reconnect, before the events of the new connection.
 *
 * **Details**
 *
 * Text and waits stay on the screen; the connection's first events replace them. Missing tools are reported again if they are still missing.
 */
export const reconnected = (view: ConversationView): ConversationView =>
  view.missingTools === undefined ? view : { ...view, missingTools: undefined }

/** The finished messages of a view, oldest first. Failed responses are among them; they have an `error`. */
export const messagesOf = (view: ConversationView): ReadonlyArray<TurnEvent.MessageEvent["message"]> =>
  view.history.flatMap((event) => (event.type === "message" ? [event.message] : []))

/** Whether the command `retry` would run the model again: no turn runs, and the last one failed or was aborted (M2). */
export const canRetry = ({ turn }: ConversationView): boolean => turn?.status === "failed" || turn?.status === "aborted"

/** The milliseconds until a wait is over, by this client's clock; never below 0. */
export const remainingMs = ({ dueAt }: ShownRetry, now: number): number => Math.max(0, dueAt - now)

// --- internal

const isOfHistory = (event: TurnEvent.TurnEvent): event is HistoryEvent => {
  switch (event.type) {
    case "turn-start":
    case "message":
    case "retry-end":
    case "step-discarded":
    case "retry-fallback-applied":
    case "retry-fallback-succeeded":
    case "model-change":
    case "synthetic-retry":
    case "compaction":
    case "final-turn":
    case "error":
    case "turn-end":
      return true
    default:
      event satisfies Exclude<TurnEvent.TurnEvent, HistoryEvent>
      return false
  }
}

/** A prompt that was aborted while it was queued concerns no turn on the screen. */
const isQueuedEnd = (event: TurnEvent.TurnEvent): boolean => event.type === "turn-end" && event.queued === true

/** Everything but the history. */
const changed = (view: ConversationView, event: TurnEvent.TurnEvent): ConversationView => {
  switch (event.type) {
    case "text-delta":
      return appended(running(view, event), event, "text")
    case "reasoning-delta":
      return appended(running(view, event), event, "reasoning")
    case "file":
      return grown(running(view, event), event.turnId, (parts) => [...parts, event.file])
    case "step-start": {
      const { step, target, turnId } = event
      const { missingTools } = view
      return {
        ...running(view, event),
        model: target,
        progress: { turnId, step, target, parts: [] }, // the step's text comes again from its beginning
        retry: undefined,
        missingTools: missingTools?.until === undefined ? missingTools : undefined,
        status: "running"
      }
    }
    case "provider-retry":
      return waiting(running(view, event), event)
    case "tools-missing":
      return { ...running(view, event), missingTools: event }
    case "turn-start":
      return {
        ...view,
        ...NOTHING_IN_PROGRESS,
        missingTools: view.missingTools?.turnId === event.turnId ? view.missingTools : undefined,
        turn: { turnId: event.turnId, status: "running", end: undefined },
        status: "running"
      }
    case "tool-call": {
      const { input, toolCallId, toolName } = event
      const call: ToolCallInProgress = { toolCallId, toolName, input, state: "running", output: undefined }
      return { ...running(view, event), toolCalls: [...view.toolCalls, call] }
    }
    case "tool-result":
      return { ...running(view, event), toolCalls: answered(view.toolCalls, event) }
    case "message": {
      const over: ConversationView = { ...running(view, event), ...NOTHING_IN_PROGRESS, status: "running" }
      if (event.message.role !== "assistant") return over
      const { model, provider } = event.message.target
      return { ...over, model: `${provider}/${model}`, toolCalls: view.toolCalls }
    }
    case "retry-end":
      return { ...running(view, event), retry: undefined, status: "running" }
    case "step-discarded": {
      const { message, step, turnId } = event
      const { progress, voided } = view
      // A step can be void twice; the second time this view may have shown nothing.
      const before = voided?.step === step && voided.turnId === turnId ? voided.parts : []
      const parts = progress?.turnId === turnId && progress.parts.length > 0 ? progress.parts : before
      return {
        ...running(view, event),
        ...NOTHING_IN_PROGRESS,
        voided: { turnId, step, message, parts },
        status: "running"
      }
    }
    case "model-change":
      return { ...running(view, event), model: event.to }
    case "turn-end":
      return {
        ...view,
        ...NOTHING_IN_PROGRESS,
        missingTools: undefined,
        turn: { turnId: event.turnId, status: event.status, end: event },
        status: "idle"
      }
    case "usage":
    case "retry-fallback-applied":
    case "retry-fallback-succeeded":
    case "synthetic-retry":
    case "compaction":
    case "final-turn":
    case "error":
      return running(view, event)
    default:
      // A later version of the service may have events that this one does not know.
      event satisfies never
      return view
  }
}

const NO_CALLS: ReadonlyArray<ToolCallInProgress> = []

const NOTHING_IN_PROGRESS = { progress: undefined, toolCalls: NO_CALLS, retry: undefined, voided: undefined }

/** The view with the event's turn as the newest: a stream may begin behind the turn's beginning. */
const running = (view: ConversationView, { turnId }: TurnEvent.TurnEvent): ConversationView =>
  view.turn?.turnId === turnId
    ? view
    : { ...view, ...NOTHING_IN_PROGRESS, turn: { turnId, status: "running", end: undefined }, status: "running" }

const appended = (
  view: ConversationView,
  { delta, turnId }: TurnEvent.TextDelta | TurnEvent.ReasoningDelta,
  type: TextInProgress["type"]
): ConversationView =>
  grown(view, turnId, (parts) => {
    const last = parts.at(-1)
    return last?.type === type
      ? [...parts.slice(0, -1), { type, text: last.text + delta }]
      : [...parts, { type, text: delta }]
  })

/** The view with more of the response in progress. */
const grown = (
  view: ConversationView,
  turnId: string,
  more: (parts: StepInProgress["parts"]) => StepInProgress["parts"]
): ConversationView => {
  const progress = view.progress ?? { turnId, step: undefined, target: undefined, parts: [] }
  const parts = more(progress.parts)
  return { ...view, progress: { ...progress, parts }, retry: undefined, voided: undefined, status: "running" }
}

const waiting = (view: ConversationView, event: TurnEvent.ProviderRetry): ConversationView => {
  const { conversationId: _, type: __, ...wait } = event
  // An immediate retry is no wait.
  if (wait.delayMs <= 0) return { ...view, retry: undefined, status: "running" }
  return { ...view, retry: { ...wait, dueAt: wait.retryAt - view.clockSkewMs }, status: "retrying" }
}

/** An id may be used again by a later call: the result belongs to the first call without one. */
const answered = (
  calls: ReadonlyArray<ToolCallInProgress>,
  { isError, output, toolCallId }: TurnEvent.ToolResult
): ReadonlyArray<ToolCallInProgress> => {
  const at = calls.findIndex((call) => call.toolCallId === toolCallId && call.state === "running")
  const call = calls[at]
  return call === undefined ? calls : calls.with(at, { ...call, state: isError ? "failed" : "succeeded", output })
}
