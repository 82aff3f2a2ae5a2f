/**
 * Writes what turns have to write: everything of a pass in one append, each with an outcome of its own.
 *
 * A disk that refuses a write pauses the turn, which is written again until the disk takes it, and does not lose it.
 */
import { type Journal as Port, JournalConflict, type StorageError } from "@holdfast/journal"
import { Records, type TurnStopped } from "@holdfast/kernel"
import type { Engine } from "@holdfast/kernel/host"
import { LongJson } from "@holdfast/wire"
import { Array as Arr, Effect, Exit, type Fiber, Schema } from "effect"
import type { Events } from "../storage/EventJournal.ts"
import type { StoredEvent } from "../storage/Store.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import type * as DrivenTurn from "./DrivenTurn.ts"
import * as Entrance from "./Entrance.ts"

/** Records and events of a turn to be written. */
export interface Write {
  readonly turn: DrivenTurn.DrivenTurn
  readonly what: Engine.Append
  append: Port.AppendWith<Events>
}

/** What became of a write. */
export type Outcome = Exit.Exit<ReadonlyArray<StoredEvent> | undefined, Port.AppendError | TurnStopped.TurnStopped>

/** The loop that the turns are in. */
interface Loop {
  /** Runs a part of a turn's work, if the turn is still in the loop. */
  readonly act: (turn: DrivenTurn.DrivenTurn, act: () => void) => void
  readonly written: (write: Write, stored: ReadonlyArray<StoredEvent>) => void
  /** Another process has written, or this one stops. */
  readonly refused: (turn: DrivenTurn.DrivenTurn, error: JournalConflict | TurnStopped.TurnStopped) => void
  /** A write that the disk had refused has its outcome. */
  readonly later: (write: Write, outcome: Outcome) => void
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

  /** Adds what a turn has to write to the present pass. */
  add(turn: DrivenTurn.DrivenTurn, what: Engine.Append): void {
    turn.writing = { done: () => {}, retry: undefined }
    this.writes.push({ turn, what, append: { turnId: turn.life.turnId, seq: turn.seq, records: [] } })
  }

  /** Runs a pass, and writes in one append what it adds. */
  during(pass: () => void): void {
    const writes = this.collected(pass)
    if (writes.length > 0) this.fork(this.written(writes))
  }

  /** The outcome of a write. */
  decided(write: Write, outcome: Outcome): void {
    const { turn, what } = write
    if (!Exit.isSuccess(outcome)) {
      const error = Entrance.errorOf(outcome.cause)
      return error._tag === "StorageError" ? this.rewrite(write, error) : this.loop.refused(turn, error)
    }
    turn.writing = undefined
    const stored = outcome.value ?? []
    // Another process has written others since this turn was read.
    if (stored.some(({ event }, i) => event.type !== what.events[i]?.type))
      return this.loop.refused(turn, new JournalConflict({ turnId: turn.life.turnId }))
    this.loop.written(write, stored)
  }

  private collected(pass: () => void): ReadonlyArray<Write> {
    pass()
    const { writes } = this
    this.writes = []
    return writes
  }

  private written(writes: ReadonlyArray<Write>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const outcomes: ReadonlyArray<Outcome> = yield* Effect.catchCause(this.appended(writes), (cause) =>
        Effect.succeed(writes.map(() => Exit.failCause(cause)))
      )
      const after = this.collected(() => {
        for (const [i, write] of writes.entries())
          this.loop.act(write.turn, () => this.decided(write, outcomes[i] ?? NO_OUTCOME))
      })
      if (after.length > 0) yield* this.written(after)
    })
  }

  private appended(writes: ReadonlyArray<Write>) {
    return Effect.flatMap(
      Effect.forEach(writes, (write) => Effect.map(appendOf(write), (append) => (write.append = append))),
      (appends) => this.services.journal.appendAll(appends)
    )
  }

  /** Writes again, with pauses, until the disk takes it. */
  private rewrite(write: Write, error: StorageError): void {
    const { append, turn } = write
    const { journal, patiently } = this.services
    let first: StorageError | undefined = error
    const again = Effect.suspend(() => {
      const refused = first
      first = undefined
      if (refused !== undefined) return Effect.fail(refused)
      return Effect.flatMap(journal.appendAll([append]), ([outcome = NO_OUTCOME]) => outcome)
    })
    const retry = this.fork(
      Effect.map(Effect.exit(patiently(turn.life.turnId)(again)), (outcome) => this.loop.later(write, outcome))
    )
    if (turn.writing !== undefined) turn.writing.retry = retry
  }
}

// --- internal

const NO_OUTCOME = Exit.die(new Error("an append has no outcome"))

const appendOf = ({ append, turn, what: { events, position, records } }: Write) =>
  Effect.map(Effect.forEach(records, storedOf), (records) => ({
    ...append,
    records,
    statements: Arr.isReadonlyArrayNonEmpty(events)
      ? { conversationId: turn.conversationId, events, position }
      : undefined
  }))

const storedOf = ({ name, record: { value } }: Engine.Named): Effect.Effect<Records.Stored> =>
  Effect.map(
    LongJson.stringify(
      // JSON has no number for a wait without end.
      typeof value === "object" && "_tag" in value && value._tag === "Retry" && !Number.isFinite(value.retryAt)
        ? encodedDirective(value)
        : value
    ),
    (value) => ({ name, value })
  )

const encodedDirective = Schema.encodeSync(Schema.toCodecJson(Records.Directive))
