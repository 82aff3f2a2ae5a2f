/**
 * Tests a `Checkpoint` of any engine, one test a law.
 *
 * **Example** (Your own engine)
 *
 * ```ts
 * CheckpointSuite.suite("my engine", Effect.map(newTurn, (turn) => ({ live: checkpointOf(turn) })))
 * ```
 */
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { TestClock } from "effect/testing"
import * as CrashLaws from "./checkpoint/CrashLaws.ts"
import type { MakeEngine } from "./checkpoint/Engine.ts"
import type { Law, Traits } from "./checkpoint/Law.ts"
import * as PortLaws from "./checkpoint/PortLaws.ts"
import * as TurnLaws from "./checkpoint/TurnLaws.ts"
import * as WaitLaws from "./checkpoint/WaitLaws.ts"

export {
  areSiblings,
  byName,
  type Engine,
  forgetful,
  lookingAhead,
  type MakeEngine,
  unnested
} from "./checkpoint/Engine.ts"
export type { Law, Traits } from "./checkpoint/Law.ts"

/** All laws, the simple ones first: the first broken law is the nearest to the fault. */
export const laws: ReadonlyArray<Law> = [...PortLaws.laws, ...TurnLaws.laws, ...CrashLaws.laws, ...WaitLaws.laws]

/** Declares one test a law. */
export const suite = (name: string, make: MakeEngine, traits: Traits = {}): void => {
  describe(name, () => {
    for (const law of askedOf(traits)) it.effect(law.name, () => checked(law, make, traits))
  })
}

/** Returns the name of the first law that an engine breaks; `undefined`: it breaks none. */
export const firstBroken = Effect.fnUntraced(function* (make: MakeEngine, traits: Traits = {}) {
  for (const law of askedOf(traits)) {
    if (Exit.isFailure(yield* Effect.exit(checked(law, make, traits)))) return law.name
  }
  return undefined
})

// --- internal

const DEFAULTS: Required<Traits> = {
  lives: "many",
  sealIsInEvents: false,
  waits: "once",
  runs: 100,
  deadlineMs: 30_000
}

const askedOf = ({ lives, waits }: Traits): ReadonlyArray<Law> =>
  laws.filter((law) => (lives !== "one" || law.lives === "one") && (waits !== "engine" || law.waits !== "once"))

/** Each law has a clock of its own, which begins at 0. */
const checked = (law: Law, make: MakeEngine, traits: Traits) =>
  law.check(make, { ...DEFAULTS, ...traits }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))
