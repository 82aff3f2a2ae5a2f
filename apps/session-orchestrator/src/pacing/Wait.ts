/**
 * The wait of one turn, as commands reach it.
 *
 * W1. Commands are taken in order, and none is lost between two parts of one wait: moving its end, extending the budget, or a
 *     question (X11) ends a sleep and begins another, and the wait is still the same.
 * W2. A command id that was taken once is never taken again (X4): whoever sends it again hears what became of the first.
 * W3. What a person wants comes before what the clock says, and an end that was moved is no end any more.
 * W4. Who sent a command hears of it when it is on record; or that there was nothing to do, when what it came too late for is
 *     on record. What was only in memory when the process died was promised to nobody.
 */
import { RetryStrategy, type TurnStopped } from "@holdfast/kernel"
import { Deferred, Effect, Exit } from "effect"

type Wake = RetryStrategy.Wake

/** A command as a wait takes it, and as it stands in the record. */
export type Command = Exclude<Wake, { readonly type: "elapsed" | "asked" }> & { readonly by: RetryStrategy.Command }

/** Whether a command did something; it is on disk by then. Fails where the turn stopped before. */
export type Answer = Effect.Effect<boolean, TurnStopped.TurnStopped>

export class Wait {
  private readonly recorded = new Set<string>()
  /** What the turn has not heard yet. */
  private readonly inbox: Array<Pending> = []
  /** What the turn has heard, and is putting on record. */
  private heard: Pending | undefined = undefined
  private bell: Deferred.Deferred<void> | undefined = undefined
  /** Open, too, until the turn has come to where it was; `ending`: it is over, and that is not on record yet. */
  private phase: "closed" | "open" | "ending" = "open"
  private isDue = false
  private isRung = false
  /** Called when a turn that stands by without a fiber is to go on. */
  private onRing: (() => void) | undefined = undefined

  /** Takes commands from now on. */
  open(): void {
    this.phase = "open"
  }

  /** Its time has come while the turn was not there to hear of it: not in memory, or standing by. */
  elapse(): void {
    this.isDue = true
  }

  /** A turn that stands by goes on now: with what there is to hear, or back out of memory where that is nothing. */
  ring(): void {
    this.isRung = true
    this.goOn()
    if (this.bell !== undefined) Deferred.doneUnsafe(this.bell, Effect.void)
  }

  /** Counts commands as taken: those that the turn has on record when it is taken up. */
  know(commandIds: ReadonlyArray<string>): void {
    for (const id of commandIds) this.record(id)
  }

  /** The turn does something else than wait. */
  pass(): void {
    this.close(NOTHING)
  }

  /** The turn has put on record how a sleep ended (W4). */
  hear(wake: Wake): void {
    if (wake.by !== undefined) this.record(wake.by.commandId)
    if (RetryStrategy.endsWait(wake)) this.close(NOTHING)
  }

  /** The turn is sealed, or has stopped: nothing more is put on record. */
  end(outcome: Exit.Exit<unknown, TurnStopped.TurnStopped>): void {
    this.close(Exit.map(outcome, () => false))
  }

  /** Hands in a command, there and then; what it gives answers for it. */
  steer(command: Command): Answer {
    const { commandId } = command.by
    if (this.recorded.has(commandId)) return Effect.succeed(true) // W2
    const known = [this.heard, ...this.inbox].find((pending) => pending?.command.by.commandId === commandId)
    if (known !== undefined) return Deferred.await(known.answer) // W2
    if (this.phase === "closed") return Effect.succeed(false)
    const pending: Pending = { command, answer: Deferred.makeUnsafe() }
    this.inbox.push(pending)
    if (this.bell !== undefined) Deferred.doneUnsafe(this.bell, Effect.void)
    this.goOn()
    return Deferred.await(pending.answer)
  }

  /** Whether there is something that the turn has not heard yet. */
  get hasNews(): boolean {
    return this.inbox.length > 0 || this.isDue
  }

  /** Whether somebody wants something of it that it has not heard yet. */
  get isSteered(): boolean {
    return this.inbox.length > 0
  }

  /** Waits until it is rung or a command comes; what there is to hear then is for `sleep`. `over` as there. */
  standBy(over: () => void): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.phase = "open"
      if (this.isRung || this.isSteered) return Effect.void
      const bell = Deferred.makeUnsafe<void>()
      this.bell = bell
      return Deferred.await(bell)
    }).pipe(Effect.onInterrupt(() => Effect.sync(() => this.ends(over))))
  }

  /** The same without a fiber: calls back once, now or then. */
  standByThen(act: () => void): void {
    this.phase = "open"
    this.onRing = act
    if (this.isRung || this.isSteered) this.goOn()
  }

  /** Ends a sleep without a fiber: its time has come, and there is no command. `over` as in `sleep`. */
  elapsed(over: () => void): Wake {
    const wake = this.take()
    this.ends(over)
    return wake
  }

  /** Sleeps until `elapsed` succeeds or a command comes. `over` is called when the wait, and not just a part of it, has ended. */
  sleep(elapsed: Effect.Effect<void>, over: () => void): Effect.Effect<Wake> {
    return Effect.suspend((): Effect.Effect<Wake> => {
      this.phase = "open"
      if (this.hasNews) return Effect.succeed(this.take())
      const bell = Deferred.makeUnsafe<void>()
      this.bell = bell
      return Effect.map(Effect.raceFirst(Deferred.await(bell), elapsed), () => this.take())
    }).pipe(
      Effect.tap((wake) =>
        Effect.sync(() => {
          this.bell = undefined
          if (RetryStrategy.endsWait(wake)) this.ends(over)
        })
      ),
      Effect.onInterrupt(() => Effect.sync(() => this.ends(over)))
    )
  }

  private goOn(): void {
    const { onRing } = this
    this.onRing = undefined
    onRing?.()
  }

  private ends(over: () => void): void {
    this.phase = "ending"
    this.isDue = false
    this.bell = undefined
    over()
  }

  /** The next thing to hear (W3). */
  private take(): Wake {
    this.heard = this.inbox.shift()
    const wake = this.heard?.command ?? ELAPSED
    if (wake.type === "until") this.isDue = false
    return wake
  }

  private record(commandId: string): void {
    this.recorded.add(commandId)
    if (this.heard?.command.by.commandId === commandId) {
      tell(this.heard, DONE)
      this.heard = undefined
    }
    const at = this.inbox.findIndex(({ command }) => command.by.commandId === commandId)
    for (const pending of at < 0 ? [] : this.inbox.splice(at, 1)) tell(pending, DONE)
  }

  private close(answer: Exit.Exit<boolean, TurnStopped.TurnStopped>): void {
    this.phase = "closed"
    this.isDue = false
    if (this.heard !== undefined) tell(this.heard, answer)
    this.heard = undefined
    for (const pending of this.inbox.splice(0)) tell(pending, answer)
  }
}

// --- internal

/** A command that is not on record, and whoever waits until it is. */
interface Pending {
  readonly command: Command
  readonly answer: Deferred.Deferred<boolean, TurnStopped.TurnStopped>
}

const DONE = Exit.succeed(true)
const NOTHING = Exit.succeed(false)
const ELAPSED: Wake = { type: "elapsed" }

const tell = ({ answer }: Pending, outcome: Exit.Exit<boolean, TurnStopped.TurnStopped>): void =>
  void Deferred.doneUnsafe(answer, outcome)
