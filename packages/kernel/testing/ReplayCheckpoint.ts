/**
 * A checkpoint that stops the turn after every record and runs it again.
 *
 * The turn runs from its start over the records. A test fails if the turn needs state that it holds only in memory. Records are encoded to
 * JSON by their schema and decoded again.
 *
 * A mark (`…/content`, `…/begun`) shows how far an effect without a result got; the turn does not stop there. A test can let the process
 * die after an effect, before its result is recorded: then only its mark is left (X2, X8).
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Checkpoint } from "../src/ports/Checkpoint.ts"
import { TurnStopped } from "../src/ports/TurnStopped.ts"

/** Stops the turn after every record, and runs it again. */
export class ReplayCheckpoint {
  /** All records by name, in order. */
  readonly records = new Map<string, unknown>()
  /** The number of runs. */
  runs = 0
  readonly service: Checkpoint["Service"]
  private isStopping = false
  private readonly losesResultOf: (name: string) => boolean

  constructor(losesResultOf: (name: string) => boolean = () => false) {
    this.losesResultOf = losesResultOf
    const { records } = this
    this.service = {
      get known() {
        return Array.from(records, ([name, value]) => ({ name, value: JSON.stringify(value) }))
      },
      mark: (name) => Effect.sync(() => void records.set(name, true)),
      run: (name, schema, effect) => this.run(name, schema, effect)
    }
  }

  private run<A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) {
    return Effect.suspend((): Effect.Effect<A, E | TurnStopped, R> => {
      const codec = Schema.toCodecJson(schema)
      if (this.records.has(name)) return Effect.orDie(Schema.decodeUnknownEffect(codec)(this.records.get(name)))
      if (this.isStopping && !isGoingOn(name, this.records)) return Effect.fail(STOP)
      return Effect.tap(effect, (result) => {
        if (this.losesResultOf(name)) return Effect.fail(STOP)
        return Effect.map(Effect.orDie(Schema.encodeEffect(codec)(result)), (json) => {
          this.records.set(name, JSON.parse(JSON.stringify(json)))
          this.isStopping ||= !/\/(?:content|begun)$/.test(name)
        })
      })
    })
  }

  /** Runs a turn to its seal, from its start again after every record. */
  toSeal<A, E, R>(turn: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      this.runs++
      this.isStopping = false
      return Effect.catch(turn, (error) => (Object.is(error, STOP) ? this.toSeal(turn) : Effect.fail(error)))
    })
  }
}

/** Whether the turn does not stop before an effect: a call that has left its mark, or the end of an abort. */
const isGoingOn = (name: string, records: ReadonlyMap<string, unknown>): boolean =>
  name === "seal" || records.has(`${name}/begun`)

const STOP = new TurnStopped({ message: "stopped, to be run again" })
