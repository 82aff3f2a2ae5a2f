/**
 * Hands a driven turn over to a fiber, with its call in progress.
 *
 * Handover.H1. A call that is handed over is run, or cancelled: by the end of the fiber at the latest.
 */
import type { Journal as Port, JournalConflict, StorageError } from "@holdfast/journal"
import { Provider, type Records } from "@holdfast/kernel"
import { type BeforeContent, type CallFailure, ProviderCall } from "@holdfast/kernel/host"
import { Effect, Exit } from "effect"
import type { Resumption } from "../storage/Store.ts"

/** A call that has been made, and goes on with another listener. An abort takes effect after the fiber has taken it. */
export interface Call {
  readonly goOn: (listener: ProviderCall.Listener) => ProviderCall.Running
  readonly cancel: () => void
}

/** How a call has begun: it has ended before content, with a failure, or it answers. */
export type Beginning = CallFailure.Broken | "answered"

/** A call of a driven turn. The driver gets its beginning. */
export class BegunCall implements ProviderCall.Listener, Call {
  private driver: ((beginning: Beginning) => void) | undefined
  private beginning: Beginning | undefined = undefined
  private listener: ProviderCall.Listener | undefined = undefined
  private kept: ProviderCall.Events | undefined = undefined
  private ended: ProviderCall.End | undefined = undefined
  private running: ProviderCall.Running | undefined = undefined

  constructor(driver: (beginning: Beginning) => void) {
    this.driver = driver
  }

  /** Makes the call. Returns how it has begun, if that is known at once; otherwise the driver is called. */
  begin(call: (listener: ProviderCall.Listener) => ProviderCall.Running): Beginning | undefined {
    this.running = call(this)
    return this.beginning
  }

  readonly events = (events: ProviderCall.Events): boolean => {
    if (this.listener !== undefined) return this.listener.events(events)
    const first = events.find((event) => !Provider.isEmptyDelta(event))
    if (first === undefined) return true
    this.kept = events
    this.begun(first.type === "error" ? ProviderCall.failureOf(first) : "answered")
    return false
  }

  readonly end = (end: ProviderCall.End): void => {
    if (this.listener !== undefined) return this.listener.end(end)
    this.ended = end
    this.begun(ProviderCall.brokenOf(end))
  }

  readonly progress = (): void => this.listener?.progress()

  readonly cancel = (): void => {
    this.driver = undefined
    if (this.ended === undefined) this.running?.cancel()
  }

  private begun(beginning: Beginning): void {
    if (this.running === undefined) this.beginning = beginning
    else this.driver?.(beginning)
  }

  /** Goes on with another listener, which gets the beginning again. Nothing of the driver is kept: a stream may be open for an hour. */
  goOn(listener: ProviderCall.Listener): ProviderCall.Running {
    const { ended, kept } = this
    this.driver = undefined
    this.listener = listener
    this.kept = undefined
    if (ended !== undefined) return ProviderCall.end(listener, ended)
    const running = this.running ?? ProviderCall.end(listener, Exit.void)
    if (kept === undefined || listener.events(kept)) running.more()
    return running
  }
}

/** Records that are still to be written, and the outcome of the driver's attempt, or its defect. Their events come again in the fiber. */
export interface Left {
  readonly append: Port.AppendWith<unknown>
  readonly outcome?: Exit.Exit<unknown, StorageError | JournalConflict> | undefined
}

/** A turn that continues in a fiber. */
export interface Handover {
  /** It has been counted among the turns that run (rule X14). */
  readonly isEntered: boolean
  readonly resumption: Resumption
  /** Its records until now, with those that are left. */
  readonly known: ReadonlyArray<Records.Stored>
  readonly priorWork?: BeforeContent.PriorWork | undefined
  /** Its call, until the fiber takes it: what a call needs only to begin is not kept while its answer streams. */
  call?: Call | undefined
  /** Written first of all. */
  readonly left?: Left | undefined
}

/** A call that will never yield anything: the turn is about to end. */
export const pending = (cancel: () => void): Call => ({ goOn: () => ({ more: () => {}, cancel }), cancel })

/** Takes the call out of a handover; returns a provider that uses it as its first call, or `undefined` if there is none. */
export const takeCall = (handover: Handover, provider: Provider.Provider["Service"]) => {
  let waiting = handover.call
  handover.call = undefined
  if (waiting === undefined) return undefined
  let cancel: (() => void) | undefined = waiting.cancel
  let abort: (() => void) | undefined
  const make = ProviderCall.of(provider)
  return {
    provider: ProviderCall.provider((request, world, listener) => {
      const first = waiting
      if (first === undefined) return make(request, world, listener)
      waiting = undefined
      cancel = undefined
      abort?.()
      return first.goOn(listener)
    }),
    /** Calls `act`, which aborts the turn, as soon as an abort may take effect. */
    abortBy: (act: () => void): void => {
      if (cancel === undefined) act()
      else abort = act
    },
    /** Handover.H1 */
    release: Effect.sync(() => cancel?.())
  }
}
