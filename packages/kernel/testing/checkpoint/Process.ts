/**
 * The process of one life of a turn: the points that it passes, one of which it may die at, and what it asks of its checkpoint.
 *
 * Process.D1. From its death on nothing that it asks for is done.
 * Process.D2. A `run` inside a `run`, or beside one that is no tool call of the same response, is a fault, whatever the engine makes of it.
 */
import { Context, Effect, type Schema } from "effect"
import type { Checkpoint } from "../../src/Checkpoint.ts"
import { TurnStopped } from "../../src/TurnStopped.ts"
import { areSiblings } from "./Engine.ts"

/**
 * A point at which a process can die.
 *
 * - `begun`: an effect without a record is about to be performed.
 * - `done`: it was performed, and its result is not on record.
 * - `recorded`: the result is on record, and the turn has not acted on it.
 * - `marked`: a mark is on record.
 * - `asleep`: half of a sleep is over. `name` is its length.
 * - `persisting`, `persisted`: before and after events are written. `name` is the type of the last.
 */
export interface Point {
  readonly at: "begun" | "done" | "recorded" | "marked" | "asleep" | "persisting" | "persisted"
  readonly name: string
}

export class Process {
  isDead = false
  /** Names of what was known at its beginning, and then of what was asked of `run`. */
  readonly names: Array<string> = []
  /** What no turn may ask for (D2). */
  readonly faults: Array<string> = []
  private readonly underWay = new Set<string>()
  private readonly dies: (point: Point) => boolean

  constructor(dies: (point: Point) => boolean) {
    this.dies = dies
  }

  /** Comes to a point. */
  pass(at: Point["at"], name: string): Effect.Effect<void, TurnStopped> {
    return Effect.suspend(() => {
      this.isDead ||= this.dies({ at, name })
      return this.isDead ? DEATH : Effect.void
    })
  }

  /** The engine's checkpoint, with its points (D1) and with an eye on what is under way (D2). */
  watched({ known, mark, run }: Checkpoint["Service"]): Checkpoint["Service"] {
    if (known !== undefined) this.names.push(...known.map(({ name }) => name))
    const marking = (name: string, marked: Effect.Effect<void, TurnStopped>) =>
      Effect.suspend(() => (this.isDead ? DEATH : Effect.andThen(marked, this.pass("marked", name))))
    return {
      ...(known === undefined ? undefined : { known }),
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
  new TurnStopped({ message: "the process has died, as the test wants it to" })
)

/** The name of the `run` that an effect is part of. */
const Within = Context.Reference<string | undefined>("@holdfast/kernel/testing/Within", {
  defaultValue: () => undefined
})
