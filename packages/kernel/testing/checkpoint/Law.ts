/** What a `Checkpoint` has to do: a sentence with its rule, and a check of it. */
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { MakeEngine } from "./Engine.ts"

/** What is known of an engine beforehand. */
export interface Traits {
  /** `one`: it records nothing, and its turns live and die with their process. */
  readonly lives?: "one" | "many"
  /** Its host never runs a turn again whose last event is on disk, so the seal is no record of the engine. */
  readonly sealIsInEvents?: boolean
  /** Values for each law that is checked over generated ones. */
  readonly runs?: number
  /** How long something may take that an engine might never do, in milliseconds of the real clock. */
  readonly deadlineMs?: number
}

/** A law; one that needs a second life is not asked of an engine that has one. */
export interface Law {
  readonly name: string
  readonly lives: "one" | "many"
  readonly check: (make: MakeEngine, traits: Required<Traits>) => Effect.Effect<void, unknown, Scope.Scope>
}

/** A law of one life. */
export const ofOneLife = (name: string, check: Law["check"]): Law => ({ name, lives: "one", check })

/** A law over several lives. */
export const ofLives = (name: string, check: Law["check"]): Law => ({ name, lives: "many", check })

/** Waits for a fact; where it does not come, fails with what was waited for. */
export const within = <A, E, R>(
  { deadlineMs }: Required<Traits>,
  what: string,
  fact: Effect.Effect<A, E, R>
): Effect.Effect<A, E | Error, R> =>
  TestClock.withLive(
    Effect.timeoutOrElse(fact, {
      duration: deadlineMs,
      orElse: () => Effect.fail(new Error(`not within ${deadlineMs} ms: ${what}`))
    })
  )
