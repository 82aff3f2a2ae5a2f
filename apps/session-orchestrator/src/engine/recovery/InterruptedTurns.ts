/**
 * Counts interruptions of turns, and decides how an interrupted turn continues (rules C10, X14).
 *
 * InterruptedTurns.B1. The count is on disk before the turn continues: a defect that takes the process down as well is counted.
 * InterruptedTurns.B2. A lost ownership is no defect and is not counted.
 *
 * A turn that another process has stopped is restarted here (`RestartDelays`):
 *
 * - The first restart is immediate: another process had written, and the turn continues from the records that are there now.
 * - A conversation that is stopped again soon waits, and longer each time, because its turn may never repeat its records. It
 *   never waits much longer than the trouble has lasted.
 * - Once a conversation has run for `SETTLED_MS`, its next stop counts as a first one, and nothing is kept here.
 */
import { Interruption } from "@holdfast/journal"
import { Turn as KernelTurn, TurnStopped, Observer } from "@holdfast/kernel"
import { type Ids, type TurnEvent, type Failure, Target, defined } from "@holdfast/wire"
import { Deferred, Duration, Effect, Option, Clock } from "effect"
import { type Engine, History, Sealing as KernelSealing } from "@holdfast/kernel/host"
import type { Session } from "../session/Session.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import * as TurnLog from "../../storage/TurnLog.ts"
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
    return yield* seal(services, session, turnId, { status: "failed", ...decision })
  }
  const admitted = Deferred.makeUnsafe<void>()
  const presence = quarantine.request(decision?._tag === "Alone", () => Deferred.doneUnsafe(admitted, Effect.void))
  turn.hold("presence", presence)
  // It may wait for minutes, and those that are due need its place.
  if (decision?._tag === "Alone") turn.without("place")
  // An aborted turn does not run, so it waits for no other turn and no other turn waits for it.
  if (!Deferred.isDoneUnsafe(admitted)) yield* Effect.raceFirst(Deferred.await(admitted), Deferred.await(abort))
  if (interruption !== undefined && decision?._tag === "Alone")
    yield* byDisk(interruptions.note(turnId, { ...interruption, isAlone: true })) // InterruptedTurns.B1
  return undefined
})

/** A turn has made a record: a turn that ran alone is not alone any more. */
export const recorded = (turn: TurnLife.TurnLife, { name, record }: Engine.Named): void => {
  if (turn.interruption === undefined) return
  if (!Interruption.isProgress({ name, value: JSON.stringify(record.value) })) return
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
  const sealed = (outcome: Outcome) => seal(services, session, turnId, outcome)
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

const ABORTED: Outcome = { status: "aborted", failure: KernelTurn.aborted }

/** Long enough for a passing fault to clear, short enough for a waiting client. */
const DEFECT_PAUSE_MS = 1_000

/** A silent disk must not delay the end of the service; the turns then count one death. */
const NOTE_LIMIT = Duration.seconds(2)

/** The end to give a turn. */
export interface Outcome {
  readonly status: "failed" | "aborted"
  readonly failure: Failure.Failure
}

/** Seals a turn that is queued, as aborted. A turn that has never run has no other event then, and its prompt is in no history. */
export const sealQueued = (services: TurnServices, session: Session, turnId: Ids.TurnId) =>
  seal(services, session, turnId, ABORTED, true)

/** Seals a turn and returns its end; a turn that is sealed already stays as it is. Fails with `TurnStopped` if another process runs it. */
export const seal = Effect.fnUntraced(function* (
  services: TurnServices,
  session: Session,
  turnId: Ids.TurnId,
  outcome: Outcome,
  isQueued = false
): Effect.fn.Return<TurnEvent.TurnEnd, TurnStopped.TurnStopped> {
  const { log, observer, store } = services
  const patiently = services.patiently(turnId)
  const turn = Option.getOrThrow(yield* patiently(store.turn(turnId)))
  if (turn.end !== undefined) return turn.end
  const { acceptedAt, conversationId } = turn
  const known = (yield* patiently(store.turnEvents(turnId))).map(({ event }) => event)
  const { model } = Option.getOrThrow(yield* patiently(store.conversation(conversationId)))
  const records = yield* patiently(log.load(turnId))
  const history = History.of(records)
  const endedAt = yield* Clock.currentTimeMillis
  const tally = History.tallyAt(history, endedAt)
  const { retryLoopMs, sleptMs, usage, waitedMs } = tally
  const { number: steps } = history.step
  const { end: seal, events } = KernelSealing.sealing(
    turn,
    { steps, attempts: History.callsOf({ tally }), sleptMs, waitedMs, usage },
    {
      ...outcome,
      endedAt,
      discarded: History.isCutOff(history) ? steps : undefined,
      unclosed: history.chains[known.filter(({ type }) => type === "retry-end").length]
    }
  )
  const isUnbegun = isQueued && known.length === 0
  const opening =
    known.length > 0 || isUnbegun
      ? []
      : KernelTurn.firstEvents({
          conversationId,
          turnId,
          startedAt: acceptedAt,
          ...defined({ prompt: yield* patiently(store.prompt(turnId)) })
        })
  const end: TurnEvent.TurnEnd = isUnbegun ? { ...seal, queued: true } : seal
  const all = isUnbegun ? [end] : [...opening, ...events]
  const append = { conversationId, turnId, seq: records.length, records: [], events: all, position: known.length }
  const { hub } = session
  const write = Effect.map(TurnLog.one(log, append), (stored) => {
    if (isQueued) hub.beside(stored)
    else hub.persisted(stored)
    return stored
  })
  // A process that gives the conversation up waits for a write under way.
  const stored = yield* session.writing(patiently(Effect.uninterruptible(write)))
  if (stored.at(-1)?.event.type !== "turn-end") {
    return yield* new TurnStopped.TurnStopped({ message: `Turn ${turnId} is being run elsewhere.` })
  }
  const target = Target.parse(history.target ?? model) ?? { provider: "", model }
  const place = { conversationId, turnId, step: steps, stepStartedAt: acceptedAt, target }
  Observer.sealed(observer, all, { ...place, startedAt: acceptedAt, end, retryLoopMs })
  return end
})

/** A run of this length has passed the point where it stopped before: reading its records again takes seconds. */
export const SETTLED_MS = 60_000

/** Reading a conversation and running it to the point where it stopped takes less time. */
export const FIRST_MS = 1_000

/**
 * The longest delay. After an operator has removed the cause, the turn restarts within this time without a restart of the runner. Each
 * restart writes two log lines.
 */
export const MOST_MS = 300_000

/** The delays of conversations that were stopped not long ago. */
export class RestartDelays {
  /** The latest stop of each conversation, the newest last. */
  private readonly stops = new Map<Ids.ConversationId, Stop>()

  /**
   * Records that a turn of a conversation was stopped.
   *
   * @param now epoch milliseconds
   * @returns milliseconds until its turn restarts
   */
  stopped(id: Ids.ConversationId, now: number): number {
    this.forget(now)
    const last = this.stops.get(id)
    const delayMs = last === undefined || isSettled(last, now) ? 0 : nextDelay(last)
    this.stops.delete(id)
    this.stops.set(id, { delayMs, backAt: now + delayMs })
    return delayMs
  }

  /** The number of conversations that are kept. */
  get size(): number {
    return this.stops.size
  }

  /** An unsettled conversation keeps those behind it too: all that stays was stopped within some minutes. */
  private forget(now: number): void {
    for (const [id, stop] of this.stops) {
      if (!isSettled(stop, now)) return
      this.stops.delete(id)
    }
  }
}

interface Stop {
  readonly delayMs: number
  /** The planned restart, in epoch milliseconds. */
  readonly backAt: number
}

const isSettled = ({ backAt }: Stop, now: number): boolean => now >= backAt + SETTLED_MS

/** Longer each time, and never much longer than the trouble has lasted. */
const nextDelay = ({ delayMs }: Stop): number => Math.min(MOST_MS, Math.max(FIRST_MS, 2 * delayMs))
