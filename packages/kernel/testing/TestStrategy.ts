/** A strategy over a list of delays, whose sleep a test can end. */
import { defined } from "@holdfast/wire"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { RetryStrategy, SleepFailure, Wake } from "../src/ports/RetryStrategy.ts"
import type { TurnParked } from "../src/ports/TurnParked.ts"

/** The delays of a strategy, and how it sleeps. */
export interface Options {
  /** Milliseconds before each retry; after the last there is none. */
  readonly delays: ReadonlyArray<number>
  readonly maxRetries?: number
  /** Instead of sleeping. */
  readonly sleep?: Effect.Effect<Wake, SleepFailure | TurnParked>
  /** The question after a wait (X11). */
  readonly ask?: RetryStrategy["Service"]["ask"]
  /** What follows a failure after content (X7). */
  readonly midStream?: RetryStrategy["Service"]["midStream"]
}

/** A strategy over a list of delays. */
export class TestStrategy {
  /** The requested sleeps, in milliseconds. */
  readonly sleeps: Array<number> = []
  /** The extension of the budget at each decision, in milliseconds. */
  readonly extensions: Array<number> = []
  private command: Deferred.Deferred<Wake> | undefined = undefined
  readonly service: RetryStrategy["Service"]

  constructor({ ask, delays, maxRetries, midStream, sleep }: Options) {
    this.service = {
      delayFor: (attempt) => delayOf(delays[attempt]),
      decide: (attempt, _failure, spent) => {
        this.extensions.push(spent.extendedMs ?? 0)
        const delay = delayOf(delays[attempt])
        return delay && { delay }
      },
      sleep: (delay) =>
        Effect.suspend(() => {
          this.sleeps.push(Duration.toMillis(delay))
          if (sleep !== undefined) return sleep
          const command = Deferred.makeUnsafe<Wake>()
          this.command = command
          const elapsed = Effect.as(Effect.sleep(delay), { type: "elapsed" } as const)
          return Effect.raceFirst(Deferred.await(command), elapsed)
        }),
      ...defined({ ask, midStream }),
      budget: { measure: "scheduled", ...defined({ maxRetries }) }
    }
  }

  /** Ends the sleep in progress. */
  wake(wake: Wake): Effect.Effect<void> {
    return Effect.suspend(() => (this.command === undefined ? Effect.void : Deferred.succeed(this.command, wake)))
  }
}

/** Makes a strategy; by default with the first delays of the default schedule (D1). */
export const make = (options: Partial<Options> = {}): TestStrategy =>
  new TestStrategy({ delays: [5_000, 10_000, 30_000], ...options })

// --- internal

const delayOf = (ms: number | undefined): Duration.Duration | undefined =>
  ms === undefined ? undefined : Duration.millis(ms)
