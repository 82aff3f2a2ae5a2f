/**
 * The waits of one turn: they end at their time, or at a command.
 *
 * A command that moves a wait or extends its budget ends one sleep, and the wait continues with another. A command between the two is
 * kept for the second.
 */
import { RetryStrategy, TurnParked } from "@holdfast/kernel"
import { RetryStrategies } from "@holdfast/policy"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

type Wake = RetryStrategy.Wake

/** The waits of one turn, as the kernel and the commands reach them. */
export class TurnWaits {
  private readonly parks: boolean
  /** Commands for the next sleep of the same wait; `undefined`: the wait is over, or its sleep is in progress. */
  private kept: Array<Wake> | undefined = undefined
  /** The tool calls of the question that is waited for; `undefined`: a retry is. */
  private calls: ReadonlyArray<string> | undefined = undefined
  /** Ends the sleep in progress. */
  private open: Deferred.Deferred<Wake> | undefined = undefined

  /** `parks`: a wait ends the run of the turn (`TurnParked`). */
  constructor(parks: boolean) {
    this.parks = parks
  }

  /** Whether the turn sleeps. */
  get isOpen(): boolean {
    return this.open !== undefined
  }

  /** The port's `sleep`. */
  readonly sleep: RetryStrategy.RetryStrategy["Service"]["sleep"] = (delay, awaited, calls) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      this.calls = calls
      const retryAt = awaited?.retryAt ?? now + Duration.toMillis(delay)
      if (this.parks && retryAt > now) return Effect.fail(new TurnParked.TurnParked({ retryAt }))
      const command = this.kept?.shift()
      if (command !== undefined) return Effect.sync(() => this.taken(command))
      this.kept = undefined
      const wake = Deferred.makeUnsafe<Wake>()
      this.open = wake
      const elapsed = Effect.as(RetryStrategies.sleepUntil(retryAt), { type: "elapsed" } as const)
      return Effect.ensuring(
        Effect.raceFirst(Deferred.await(wake), elapsed),
        Effect.sync(() => void (this.open = undefined))
      )
    })

  /** Ends the sleep in progress, or the next one of the same wait; `false`: the turn does not wait. */
  command(wake: Wake): boolean {
    if (!RetryStrategy.fits(wake, this.calls)) return false
    const last = this.kept?.at(-1)
    if (this.kept !== undefined && (last === undefined || !RetryStrategy.endsWait(last)))
      return this.kept.push(wake) > 0
    if (this.open === undefined || !Deferred.doneUnsafe(this.open, Effect.succeed(wake))) return false
    this.taken(wake)
    return true
  }

  /** The wait is over, whatever was to come. */
  end(): void {
    this.kept = undefined
  }

  /** The wait continues behind a command that does not end it. */
  private taken(wake: Wake): Wake {
    this.kept = RetryStrategy.endsWait(wake) ? undefined : (this.kept ?? [])
    return wake
  }
}
