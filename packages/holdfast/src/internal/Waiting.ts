/**
 * The waits of one turn: they end at their time, or at a command.
 */
import { type RetryStrategy, TurnParked } from "@holdfast/kernel"
import { RetryStrategies } from "@holdfast/policy"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

type Wake = RetryStrategy.Wake

/** The waits of one turn, as the kernel and the commands reach them. */
export class Waiting {
  private readonly parks: boolean
  private open: { readonly wake: Deferred.Deferred<Wake>; readonly retryAt: number } | undefined = undefined

  /** `parks`: a wait ends the run of the turn (`TurnParked`). */
  constructor(parks: boolean) {
    this.parks = parks
  }

  /** When the wait in progress ends, in epoch milliseconds; `undefined`: there is none. */
  get retryAt(): number | undefined {
    return this.open?.retryAt
  }

  /** The port's `sleep`. */
  readonly sleep: RetryStrategy.RetryStrategy["Service"]["sleep"] = (delay) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const retryAt = now + Duration.toMillis(delay)
      if (this.parks && retryAt > now) return Effect.fail(new TurnParked.TurnParked({ retryAt }))
      const wake = Deferred.makeUnsafe<Wake>()
      this.open = { wake, retryAt }
      const elapsed = Effect.as(RetryStrategies.sleepUntil(retryAt), { type: "elapsed" } as const)
      return Effect.ensuring(
        Effect.raceFirst(Deferred.await(wake), elapsed),
        Effect.sync(() => void (this.open = undefined))
      )
    })

  /** Ends the sleep in progress; `false`: there is none, or another command was first. */
  command(wake: Wake): boolean {
    return this.open !== undefined && Deferred.doneUnsafe(this.open.wake, Effect.succeed(wake))
  }
}
