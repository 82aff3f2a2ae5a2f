/**
 * The process of one life of a turn, which may die at chosen points.
 *
 * SimulatedProcess.D1. After its death none of its requests is performed.
 * SimulatedProcess.D2. A `run` inside another is a fault, and so is a `run` beside another unless both are tool calls of one response. The engine's
 *     reaction does not matter.
 */
import { defined } from "@holdfast/wire"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Checkpoint } from "../../src/ports/Checkpoint.ts"
import { TurnStopped } from "../../src/ports/TurnStopped.ts"
import { areSiblings } from "./Engine.ts"

/**
 * A point at which a process can die.
 *
 * - `begun`: an effect without a record is about to run.
 * - `done`: it has run, and its result is not recorded.
 * - `recorded`: the result is recorded, and the turn has not acted on it.
 * - `marked`: a mark is recorded.
 * - `asleep`: half of a sleep is over. `name` is its length.
 * - `persisting`, `persisted`: before and after events are written. `name` is the type of the last.
 */
export interface Point {
  readonly at: "begun" | "done" | "recorded" | "marked" | "asleep" | "persisting" | "persisted"
  readonly name: string
}

/** The process of one life. */
export class SimulatedProcess {
  isDead = false
  /** The names of the known records at its beginning, then those of all calls of `run`. */
  readonly names: Array<string> = []
  /** The faults of the turn (SimulatedProcess.D2). */
  readonly faults: Array<string> = []
  private readonly underWay = new Set<string>()
  private readonly dies: (point: Point) => boolean

  constructor(dies: (point: Point) => boolean) {
    this.dies = dies
  }

  /** Passes a point, or dies there. */
  pass(at: Point["at"], name: string): Effect.Effect<void, TurnStopped> {
    return Effect.suspend(() => {
      this.isDead ||= this.dies({ at, name })
      return this.isDead ? DEATH : Effect.void
    })
  }

  /** The engine's checkpoint, with the points of this process (SimulatedProcess.D1) and a check for faults (SimulatedProcess.D2). */
  watched({ known, mark, run }: Checkpoint["Service"]): Checkpoint["Service"] {
    if (known !== undefined) this.names.push(...known.map(({ name }) => name))
    const marking = (name: string, marked: Effect.Effect<void, TurnStopped>) =>
      Effect.suspend(() => (this.isDead ? DEATH : Effect.andThen(marked, this.pass("marked", name))))
    return {
      ...defined({ known }),
      ...(mark === undefined ? undefined : { mark: (name) => marking(name, mark(name)) }),
      run: (name, schema, effect) => this.run(run, name, schema, effect)
    }
  }

  private run<A, I, E, R>(
    run: Checkpoint["Service"]["run"],
    name: string,
    schema: Schema.Codec<A, I>,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | TurnStopped, R> {
    return Effect.gen({ self: this }, function* () {
      if (this.isDead) return yield* DEATH
      this.names.push(name)
      const outer = yield* Within
      if (outer !== undefined) this.faults.push(`${name} is run inside ${outer}`)
      for (const other of this.underWay) {
        if (!areSiblings(other, name)) this.faults.push(`${name} is run while ${other} is under way`)
      }
      this.underWay.add(name)
      let isNew = false
      const performed = Effect.gen({ self: this }, function* () {
        isNew = true
        yield* this.pass("begun", name)
        const result = yield* effect
        yield* this.pass("done", name)
        return result
      }).pipe(Effect.provideService(Within, name))
      const result = yield* Effect.ensuring(
        run(name, schema, performed),
        Effect.sync(() => this.underWay.delete(name))
      )
      if (isNew) yield* this.pass("recorded", name)
      return result
    })
  }
}

// --- internal

const DEATH: Effect.Effect<never, TurnStopped> = Effect.fail(
  new TurnStopped({ message: "the process died at a point that the test chose" })
)

/** The name of the `run` that an effect is part of. */
const Within = Context.Reference<string | undefined>("@holdfast/kernel/testing/Within", {
  defaultValue: () => undefined
})
