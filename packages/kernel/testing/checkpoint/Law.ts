/** A law of a `Checkpoint`: a sentence with its rule, and its check. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import type { MakeEngine } from "./Engine.ts"

/** The traits of an engine that select its laws. */
export interface Traits {
  /** `one`: it records nothing, and its turns end with their process. */
  readonly lives?: "one" | "many"
  /** Its host never runs a turn again whose last event is on disk, so the seal is no record of the engine. */
  readonly sealIsInEvents?: boolean
  /**
   * `engine`: it sleeps by a timer of its own that has its own record, so a wait that has ended is entered again, and its sleep ends at once. Its
   * turns are aborted by the engine alone.
   */
  readonly waits?: "once" | "engine"
  /** The number of generated values for each such law. */
  readonly runs?: number
  /** The time limit of an effect that an engine might never perform, in milliseconds of the real clock. */
  readonly deadlineMs?: number
}

/** A law; an engine with one life is not tested for a law over several lives. */
export interface Law {
  readonly name: string
  readonly lives: "one" | "many"
  /** The waits of engines that it is a law of; absent: all. */
  readonly waits?: "once"
  readonly check: (make: MakeEngine, traits: Required<Traits>) => Effect.Effect<void, unknown, Scope.Scope>
}

/** A law of one life. */
export const ofOneLife = (name: string, check: Law["check"]): Law => ({ name, lives: "one", check })

/** A law over several lives. */
export const ofLives = (name: string, check: Law["check"], waits?: Law["waits"]): Law => ({
  name,
  lives: "many",
  ...(waits === undefined ? undefined : { waits }),
  check
})

/** Waits for a fact; fails after the deadline, with `what` in its message. */
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
