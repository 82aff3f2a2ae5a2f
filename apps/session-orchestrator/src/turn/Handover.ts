/**
 * What a fiber gets of a turn that was driven without one: where it is, and the call that is under way.
 *
 * Handover.H1. A call that is handed over is run, or cancelled: by the end of the fiber at the latest.
 */
import { type BeforeContent, type Opening, type Provider, Push } from "@holdfast/kernel"
import { Deferred, Effect, Exit, Stream } from "effect"
import type { Early } from "../session/Early.ts"
import type { Append, JournalConflict, Record } from "../durable/Journal.ts"
import type { Resumption, StorageError } from "../storage/Store.ts"

/** A call that is under way, or about to be made. */
export interface Call {
  readonly stream: Opening.Events
  readonly cancel: () => void
  /** It is made already: an abort ends it, and does not come before it. */
  readonly isUnderWay: boolean
}

/** Why a turn did not go on where it was, and the records that are still to be written. */
export interface Refused {
  readonly append?: Append
  readonly outcome: Exit.Exit<void, StorageError | JournalConflict>
}

/** A turn that goes on in a fiber. */
export interface Handover {
  /** It has been let in among the turns that run (X14). */
  readonly isEntered: boolean
  /** It runs before it is accepted. */
  readonly early: Early | undefined
  readonly resumption: Resumption
  /** Its records until now. */
  readonly known: ReadonlyArray<Record>
  readonly begun: BeforeContent.Begun | undefined
  readonly call?: Call | undefined
  /** What has kept it from going on: the disk has not taken the last of the records, or a defect. */
  readonly refused?: Refused | undefined
}

/** A call that was refused, for the interpreter to hear of. */
export const ofRefusal = (refusal: Opening.Refusal): Call => ({
  stream: "_tag" in refusal ? Stream.fail(refusal) : Stream.succeed(refusal),
  cancel: () => {},
  isUnderWay: true
})

/** A call that nothing has come of, and nothing will: the turn is to end. */
export const pending = (cancel: () => void): Call => ({ stream: Stream.never, cancel, isUnderWay: true })

/** A provider whose first call is the one that was handed over. */
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
    /** Succeeds when an abort may be heeded. */
    reached: isUnderWay ? Deferred.await(called) : Effect.void,
    /** H1 */
    release: Effect.sync(() => {
      if (!Deferred.isDoneUnsafe(called)) cancel()
    })
  }
}
