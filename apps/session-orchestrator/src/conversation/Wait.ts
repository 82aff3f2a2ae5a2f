/**
 * The wait of one turn, as commands reach it.
 *
 * W1. Commands are taken in order, and none is lost between two parts of one wait: moving its end, or extending the budget,
 *     ends a sleep and begins another, and the wait is still the same.
 * W2. A command id that was taken once is never taken again (X4).
 * W3. What a person wants comes before what the clock says.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import { Deferred, Effect } from "effect"

type Wake = RetryStrategy.Wake

export class Wait {
  private readonly taken = new Set<string>()
  private readonly inbox: Array<Wake> = []
  private bell: Deferred.Deferred<void> | undefined = undefined
  private isOpen = false

  /** Counts commands as taken: those that the turn has on record. They are not heard again, if they came meanwhile. */
  know(commandIds: ReadonlyArray<string>): void {
    for (const id of commandIds) this.taken.add(id)
    const news = this.inbox.filter(({ by }) => by === undefined || !commandIds.includes(by.commandId))
    this.inbox.splice(0, this.inbox.length, ...news)
  }

  /** Goes on with a wait that was parked; what ended its parking is the first command. */
  begin(wake: Wake): void {
    this.open()
    this.steer(wake)
  }

  /** Takes commands from now on. */
  open(): void {
    this.isOpen = true
  }

  /** The first command that nobody has heard yet. */
  take(): Wake | undefined {
    const commanded = this.inbox.findIndex(({ type }) => type !== "elapsed") // W3
    const [wake] = this.inbox.splice(Math.max(0, commanded), 1)
    return wake
  }

  /** Hands in a command; whether there is a wait that it can do something to. */
  steer(wake: Wake): boolean {
    if (!this.isOpen) return false
    if (wake.by !== undefined && this.taken.has(wake.by.commandId)) return true // W2
    if (wake.by !== undefined) this.taken.add(wake.by.commandId)
    this.inbox.push(wake)
    if (this.bell !== undefined) Deferred.doneUnsafe(this.bell, Effect.void)
    return true
  }

  /** Whether a command waits to be heard. */
  get hasNews(): boolean {
    return this.inbox.length > 0
  }

  /** Sleeps until `elapsed` succeeds or a command comes. `over` is called when the wait, and not just a part of it, has ended. */
  sleep(elapsed: Effect.Effect<void>, over: () => void): Effect.Effect<Wake> {
    const close = () => {
      this.isOpen = false
      this.inbox.length = 0
      over()
    }
    return Effect.suspend((): Effect.Effect<Wake> => {
      this.isOpen = true
      const next = this.take()
      if (next !== undefined) return Effect.succeed(next)
      const bell = Deferred.makeUnsafe<void>()
      this.bell = bell
      const rung = Effect.map(Deferred.await(bell), () => this.take() ?? ELAPSED)
      return Effect.raceFirst(rung, Effect.as(elapsed, ELAPSED))
    }).pipe(
      Effect.tap((wake) =>
        Effect.sync(() => {
          this.bell = undefined
          if (wake.type !== "until" && wake.type !== "extended") close()
        })
      ),
      Effect.onInterrupt(() => Effect.sync(close))
    )
  }
}

// --- internal

const ELAPSED: Wake = { type: "elapsed" }
