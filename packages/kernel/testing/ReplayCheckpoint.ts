/**
 * A checkpoint that forgets everything but its records, as often as it can.
 *
 * After every record it stops the turn, which is then run again from its start over the records. What a turn holds in
 * memory only, and needs, is found out that way. Records go through their schema as JSON and back.
 *
 * Marks (`…/content`, `…/begun`) tell how far something got that has no result yet; there it does not stop. A test can have the
 * process die when something has been done and its result is not yet recorded: what it left behind then is its mark (X2, X8).
 */
import { Effect, Schema } from "effect"
import type { Checkpoint } from "../src/Checkpoint.ts"
import { TurnStopped } from "../src/TurnStopped.ts"

export class ReplayCheckpoint {
  /** What was recorded, in order. */
  readonly records = new Map<string, unknown>()
  /** How often the turn was run. */
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

/** What it does not stop before: a call that has left its mark, and the end of an abort. */
const isGoingOn = (name: string, records: ReadonlyMap<string, unknown>): boolean =>
  name === "seal" || records.has(`${name}/begun`)

const STOP = new TurnStopped({ message: "stopped, to be run again" })
