/**
 * Writes what turns have to write: everything of a pass in one append, each with an outcome of its own.
 *
 * A disk that refuses a write pauses the turn, which is written again until the disk takes it, and does not lose it.
 */
import { type Journal, JournalConflict, type StorageError } from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import type { Engine } from "@holdfast/kernel/host"
import { Effect, Exit, type Fiber } from "effect"
import type { StoredEvent } from "../../storage/Stored.ts"
import * as TurnLog from "../../storage/TurnLog.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import type * as DrivenTurn from "./DrivenTurn.ts"
import * as Entrance from "./Entrance.ts"

/** Records and events of a turn to be written. */
interface Write {
  readonly append: TurnLog.Append
  /** Acts on its outcome, in a pass. */
  readonly decided: (outcome: Outcome) => void
}

/** What became of a write. */
type Outcome = Exit.Exit<ReadonlyArray<StoredEvent>, Journal.AppendError | TurnStopped.TurnStopped>

/** The loop that the turns are in. */
export interface Loop {
  /** Acts for a turn whose write has its outcome, if the turn is still in the loop. */
  readonly decided: (turn: DrivenTurn.DrivenTurn, act: () => void) => void
  readonly written: (turn: DrivenTurn.DrivenTurn, append: TurnLog.Append, stored: ReadonlyArray<StoredEvent>) => void
  /** Another process has written, or this one stops. */
  readonly refused: (turn: DrivenTurn.DrivenTurn, error: JournalConflict | TurnStopped.TurnStopped) => void
  /** Acts in a later pass: a write that the disk had refused has its outcome. */
  readonly later: (decide: () => void) => void
}

/** The writes of all turns. */
export class Appends {
  private readonly services: TurnServices
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private readonly loop: Loop
  /** Of the present pass. */
  private writes: Array<Write> = []

  constructor(services: TurnServices, fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>, loop: Loop) {
    this.services = services
    this.fork = fork
    this.loop = loop
  }

  /** Adds what a turn has to write to the present pass. Behind another write of its session (`Session.write`) it goes into a later pass. */
  add(turn: DrivenTurn.DrivenTurn, { events, position, records }: Engine.Append): void {
    const { conversationId, life, seq, session } = turn
    const write: Write = {
      append: { conversationId, turnId: life.turnId, seq, records, events, position },
      decided: (outcome) => this.loop.decided(turn, () => this.decide(turn, write, outcome))
    }
    const writing: DrivenTurn.Writing = { isBegun: false, over: () => {}, done: () => {}, retry: undefined }
    turn.writing = writing
    let isOfPass = true
    const begin = () => {
      writing.isBegun = true
      this.writes.push(write)
    }
    writing.over = session.write(() => (isOfPass ? begin() : this.loop.later(() => this.loop.decided(turn, begin))))
    isOfPass = false
  }

  /** Runs a pass, and writes in one append what it adds. */
  during(pass: () => void): void {
    const writes = this.collected(pass)
    if (writes.length > 0) this.fork(this.written(writes))
  }

  private decide(turn: DrivenTurn.DrivenTurn, write: Write, outcome: Outcome): void {
    const error = Exit.isSuccess(outcome) ? undefined : Entrance.errorOf(outcome.cause)
    if (error?._tag === "StorageError") return this.rewrite(turn, write, error)
    turn.writing?.over()
    if (!Exit.isSuccess(outcome)) return error && this.loop.refused(turn, error)
    turn.writing = undefined
    const stored = outcome.value
    // Another process has written others since this turn was read.
    if (stored.some(({ event }, i) => event.type !== write.append.events[i]?.type))
      return this.loop.refused(turn, new JournalConflict({ turnId: turn.life.turnId }))
    this.loop.written(turn, write.append, stored)
  }

  private collected(pass: () => void): ReadonlyArray<Write> {
    pass()
    const { writes } = this
    this.writes = []
    return writes
  }

  private written(writes: ReadonlyArray<Write>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const appends = writes.map(({ append }) => append)
      const written = yield* Effect.exit(Effect.suspend(() => this.services.log.append(appends)))
      const outcomes = Exit.isSuccess(written) ? written.value : writes.map(() => Exit.failCause(written.cause))
      const after = this.collected(() => {
        for (const [i, write] of writes.entries()) write.decided(outcomes[i] ?? NO_OUTCOME)
      })
      if (after.length > 0) yield* this.written(after)
    })
  }

  /** Writes again, with pauses, until the disk takes it. */
  private rewrite(turn: DrivenTurn.DrivenTurn, { append, decided }: Write, error: StorageError): void {
    const { log, patiently } = this.services
    const again = patiently(turn.life.turnId)(
      Effect.suspend(() => TurnLog.one(log, append)),
      error
    )
    const retry = this.fork(Effect.map(Effect.exit(again), (outcome) => this.loop.later(() => decided(outcome))))
    if (turn.writing !== undefined) turn.writing.retry = retry
  }
}

// --- internal

const NO_OUTCOME = Exit.die(new Error("an append has no outcome"))
