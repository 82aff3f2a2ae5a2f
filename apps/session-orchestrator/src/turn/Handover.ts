/**
 * Hands a driven turn over to a fiber, with its call in progress.
 *
 * Handover.H1. A call that is handed over is run, or cancelled: by the end of the fiber at the latest.
 */
import type { Journal as Port, JournalConflict, StorageError } from "@holdfast/journal"
import type { Provider, Records } from "@holdfast/kernel"
import { type BeforeContent, type Opening, Push } from "@holdfast/kernel/host"
import { Deferred, Effect, Exit, Stream } from "effect"
import type { Early } from "../session/Early.ts"
import type { Resumption } from "../storage/Store.ts"

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
  readonly call?: Call | undefined
  /** Why it could not continue: the disk has not taken the last records, or a defect. */
  readonly refused?: Refused | undefined
}

/** A refused call, so that the interpreter receives the refusal. */
export const ofRefusal = (refusal: Opening.Refusal): Call => ({
  stream: "_tag" in refusal ? Stream.fail(refusal) : Stream.succeed(refusal),
  cancel: () => {},
  isUnderWay: true
})

/** A call that will never yield anything: the turn is about to end. */
export const pending = (cancel: () => void): Call => ({ stream: Stream.never, cancel, isUnderWay: true })

/** A provider that uses the handed-over call as its first call. */
export const resumed = ({ cancel, isUnderWay, stream }: Call, provider: Provider.Provider["Service"]) => {
  const called = Deferred.makeUnsafe<void>()
  let isTaken = false
  const first = Push.unwrap(
    Effect.acquireRelease(
      Effect.sync(() => {
        Deferred.doneUnsafe(called, Exit.void)
        return stream
      }),
      () => Effect.sync(cancel)
    )
  )
  const own: Provider.Provider["Service"] = {
    stream: (request) => {
      if (isTaken) return provider.stream(request)
      isTaken = true
      return first
    }
  }
  return {
    provider: own,
    /** Succeeds when an abort may take effect. */
    reached: isUnderWay ? Deferred.await(called) : Effect.void,
    /** Handover.H1 */
    release: Effect.sync(() => {
      if (!Deferred.isDoneUnsafe(called)) cancel()
    })
  }
}
