/**
 * Hands a driven turn over to a fiber, with its call in progress.
 *
 * Handover.H1. A call that is handed over is run, or cancelled: by the end of the fiber at the latest.
 */
import type { Journal as Port, JournalConflict, StorageError } from "@holdfast/journal"
import type { Provider, Records } from "@holdfast/kernel"
import { type BeforeContent, type Opening, Push } from "@holdfast/kernel/host"
import { Effect, type Exit, Stream } from "effect"
import type { Early } from "../session/Early.ts"
import type { Resumption } from "../storage/Store.ts"
import * as InScope from "../system/InScope.ts"

/** A call in progress, or about to be made. */
export interface Call {
  readonly stream: Opening.Events
  readonly cancel: () => void
  /** The call has been made: an abort ends it, and takes effect after the fiber has taken the call. */
  readonly isUnderWay: boolean
}

/** Why a turn could not continue in the driver, and the records that are still to be written. */
export interface Refused {
  readonly append?: Port.Append
  readonly outcome: Exit.Exit<void, StorageError | JournalConflict>
}

/** A turn that continues in a fiber. */
export interface Handover {
  /** It has been counted among the turns that run (rule X14). */
  readonly isEntered: boolean
  /** Set if the turn runs before it is accepted. */
  readonly early: Early | undefined
  readonly resumption: Resumption
  /** Its records until now. */
  readonly known: ReadonlyArray<Records.Stored>
  readonly priorWork: BeforeContent.PriorWork | undefined
  /** Its call, until the fiber takes it: what a call needs only to begin is not kept while its answer streams. */
  call?: Call | undefined
  /** Why it could not continue: the disk has not taken the last records, or a defect. */
  readonly refused?: Refused | undefined
}

/** A refused call, so that the turn receives the refusal. */
export const ofRefusal = (refusal: Opening.Refusal): Call => ({
  stream: "_tag" in refusal ? Stream.fail(refusal) : Stream.succeed(refusal),
  cancel: () => {},
  isUnderWay: true
})

/** A call that will never yield anything: the turn is about to end. */
export const pending = (cancel: () => void): Call => ({ stream: Stream.never, cancel, isUnderWay: true })

/** Takes the call out of a handover; returns a provider that uses it as its first call, or `undefined` if there is none. */
export const takeCall = (handover: Handover, provider: Provider.Provider["Service"]) => {
  let waiting = handover.call
  handover.call = undefined
  if (waiting === undefined) return undefined
  const { isUnderWay } = waiting
  let cancel: (() => void) | undefined = waiting.cancel
  let isReached = !isUnderWay
  let abort: (() => void) | undefined
  const begin = (): void => {
    cancel = undefined
    isReached = true
    abort?.()
  }
  const own: Provider.Provider["Service"] = {
    stream: (request) => {
      if (waiting === undefined) return provider.stream(request)
      const first = run(waiting, begin)
      waiting = undefined
      return first
    }
  }
  return {
    provider: own,
    /** Calls `act`, which aborts the turn, as soon as an abort may take effect. */
    abortBy: (act: () => void): void => {
      if (isReached) act()
      else abort = act
    },
    /** Handover.H1 */
    release: Effect.sync(() => cancel?.())
  }
}

// --- internal

const run = ({ cancel, stream }: Call, begin: () => void): Opening.Events =>
  Push.unwrap(
    InScope.take(() => {
      begin()
      return stream
    }, cancel)
  )
