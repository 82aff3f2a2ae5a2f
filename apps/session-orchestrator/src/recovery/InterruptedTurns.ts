/**
 * Counts interruptions of turns, and decides how an interrupted turn continues (rules C10, X14).
 *
 * InterruptedTurns.B1. The count is on disk before the turn continues: a defect that takes the process down as well is counted.
 * InterruptedTurns.B2. A lost ownership is no defect and is not counted.
 */
import { Interruption } from "@holdfast/journal"
import { type Records, Turn as KernelTurn, type TurnStopped } from "@holdfast/kernel"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Deferred, Duration, Effect, Option } from "effect"
import * as Sealing from "./Sealing.ts"
import type { Session } from "../session/Session.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import type { TurnServices } from "../turn/TurnServices.ts"

/** Waits until a turn may run. Returns its seal if the turn is sealed instead of run again. */
export const enter = Effect.fnUntraced(function* (
  services: TurnServices,
  session: Session,
  turn: TurnLife.TurnLife
): Effect.fn.Return<TurnEvent.TurnEnd | undefined, TurnStopped.TurnStopped> {
  const { interruptions, quarantine } = services
  const { abort, turnId } = turn
  const { interruption } = turn
  const decision = interruption && Interruption.runPlanOf(interruption)
  const byDisk = services.patiently(turnId)
  if (decision?._tag === "Seal") {
    yield* Effect.logError(`Turn ${turnId} is sealed as failed. ${decision.failure.message}`)
    return yield* Sealing.seal(services, session, turnId, { status: "failed", ...decision })
  }
  const admitted = Deferred.makeUnsafe<void>()
  const presence = quarantine.request(decision?._tag === "Alone", () => Deferred.doneUnsafe(admitted, Effect.void))
  turn.hold("presence", presence)
  // An aborted turn does not run, so it waits for no other turn and no other turn waits for it.
  if (!Deferred.isDoneUnsafe(admitted)) yield* Effect.raceFirst(Deferred.await(admitted), Deferred.await(abort))
  if (interruption !== undefined && decision?._tag === "Alone")
    yield* byDisk(interruptions.note(turnId, { ...interruption, isAlone: true })) // InterruptedTurns.B1
  return undefined
})

/** A turn has made a record: a turn that ran alone is not alone any more. */
export const recorded = (turn: TurnLife.TurnLife, record: Records.Stored): void => {
  if (turn.interruption === undefined || !Interruption.isProgress(record)) return
  turn.interruption = undefined
  turn.holds.presence?.progressed()
}

/** A defect of the service has stopped a turn: it is run again after a pause, or sealed (rule C10). Returns its seal. */
export const ofDefect = Effect.fnUntraced(function* (
  services: TurnServices,
  session: Session,
  { abort, turnId }: TurnLife.TurnLife,
  error: TurnStopped.TurnStopped
): Effect.fn.Return<TurnEvent.TurnEnd | undefined, TurnStopped.TurnStopped> {
  const { interruptions, life } = services
  const byDisk = services.patiently(turnId)
  const sealed = (outcome: Sealing.Outcome) => Sealing.seal(services, session, turnId, outcome)
  if (Deferred.isDoneUnsafe(abort)) return yield* sealed(ABORTED)
  const known = Option.getOrElse(yield* byDisk(interruptions.find(turnId)), () => Interruption.none(life))
  const defects = known.defects + 1
  yield* byDisk(interruptions.takeUp(turnId, { ...known, life, defects })) // InterruptedTurns.B1
  yield* Effect.logError(
    `Turn ${turnId} was stopped by defect ${defects} of ${Interruption.MOST_DEFECTS}: ${error.message}`
  )
  if (defects >= Interruption.MOST_DEFECTS) {
    return yield* sealed({ status: "failed", failure: Interruption.stoppedBy(defects, error.message) })
  }
  session.hub.restarted()
  yield* pause(abort, DEFECT_PAUSE_MS)
  return undefined
})

/** Waits before a turn is run again; an abort ends the wait. */
export const pause = (abort: TurnLife.TurnLife["abort"], ms: number): Effect.Effect<void> =>
  Effect.raceFirst(Effect.sleep(ms), Deferred.await(abort))

/** Records an orderly stop of conversations, so that it counts as no death of their running turns. */
export const recordOrderlyStop = (
  { interruptions, life, sessions }: TurnServices,
  isMeant: (id: Ids.ConversationId) => boolean = () => true
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const turns = Array.from(sessions, ({ conversationId, turns }) => (isMeant(conversationId) ? turns : [])).flat()
    return Effect.forEach(
      turns.filter(({ holds, residence }) => holds.presence !== undefined && residence !== "parked"),
      ({ interruption = Interruption.none(life), turnId }) =>
        interruptions.note(turnId, { ...interruption, deaths: 0, isAlone: false, isOrderly: true }),
      { concurrency: "unbounded", discard: true }
    )
  }).pipe(Effect.timeoutOrElse({ duration: NOTE_LIMIT, orElse: () => Effect.void }), Effect.ignore)

// --- internal

const ABORTED: Sealing.Outcome = { status: "aborted", failure: KernelTurn.aborted }

/** Long enough for a passing fault to clear, short enough for a waiting client. */
const DEFECT_PAUSE_MS = 1_000

/** A silent disk must not delay the end of the service; the turns then count one death. */
const NOTE_LIMIT = Duration.seconds(2)
