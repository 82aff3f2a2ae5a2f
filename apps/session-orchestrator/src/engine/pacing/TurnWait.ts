/**
 * Delivers commands to the wait of one turn.
 *
 * TurnWait.W2. A command id that was taken once is never taken again (rule X4): a client that sends it again gets the result of the first.
 * TurnWait.W3. A person's command comes before the clock, and an end that was moved does not end the wait any more.
 * TurnWait.W4. The sender of a command gets its result when it is on record. If the command came too late, the sender gets that result when the
 *     event that overtook it is on record; if a defect keeps it from being recorded, the sender gets the error. Commands in memory when the
 *     process dies have not been answered.
 *
 * Commands are taken in order, and none is lost between two parts of one wait: moving its end, extending the budget, or a question (rule X11)
 * ends a sleep and begins another, and the wait is still the same. A question about tool calls takes answers to its calls, a change of its
 * deadline, and giving up; any other wait takes no answers. A command that does not fit has nothing to do.
 */
import { RetryStrategy, type TurnStopped } from "@holdfast/kernel"
import { Deferred, Effect, Exit } from "effect"

type Wake = RetryStrategy.Wake

/** A command as a wait takes it, and as it stands in the record. */
export type Command = Exclude<Wake, { readonly type: "elapsed" | "asked" }> & { readonly by: RetryStrategy.Command }

/** Whether a command had an effect, which is on disk by then. Fails if the turn stopped before. */
export type CommandResult = Effect.Effect<boolean, TurnStopped.TurnStopped>

/** The wait of one turn and its commands. */
export class TurnWait {
  private readonly recorded = new Set<string>()
  /** Commands that the turn has not taken yet. */
  private readonly inbox: Array<Pending> = []
  /** The command that the turn has taken and is recording. */
  private taken: Pending | undefined = undefined
  /** Also while the turn replays its records, and while the wait is over and that is not on record yet. */
  private isOpen = true
  private isDue = false
  private isResumed = false
  /** What is waited for: answers about tool calls, or a retry. `undefined`: that is not known yet, and `expect` decides. */
  private expected: { readonly calls: ReadonlyArray<string> | undefined } | undefined = undefined
  /** Called once, when the turn is to look at its wait again. */
  private onNews: (() => void) | undefined = undefined

  /** Takes commands from now on. */
  open(): void {
    this.isOpen = true
  }

  /** The wait's time has come while the turn was not running: not in memory, or standing by. */
  elapse(): void {
    this.isDue = true
  }

  /** Continues a turn that stands by: with the commands that have arrived, or out of memory again if there are none. */
  resume(): void {
    this.isResumed = true
    this.report()
  }

  /** The turn is about to wait: for answers about these tool calls, or for a retry. */
  expect(calls: ReadonlyArray<string> | undefined): void {
    this.expected = { calls }
    for (const pending of this.inbox.splice(0)) {
      if (RetryStrategy.fits(pending.command, calls)) this.inbox.push(pending)
      else resolve(pending, NOTHING)
    }
  }

  /** Counts commands as taken: those in the turn's records when it is taken up. */
  markTaken(commandIds: ReadonlyArray<string>): void {
    for (const id of commandIds) this.record(id)
  }

  /** The turn does something other than wait. */
  notWaiting(): void {
    this.close(NOTHING)
  }

  /** The turn has recorded the end of a sleep (TurnWait.W4). */
  recordedEnd(wake: Wake): void {
    this.expected = undefined
    if (wake.by !== undefined) this.record(wake.by.commandId)
    if (RetryStrategy.endsWait(wake)) this.close(NOTHING)
  }

  /** A defect has stopped the turn, which is run again from its records: the command that it had taken is not among them (TurnWait.W4). */
  failTaken(error: TurnStopped.TurnStopped): void {
    if (this.taken !== undefined) resolve(this.taken, Exit.fail(error))
    this.taken = undefined
  }

  /** The turn is sealed, or has stopped: nothing more is recorded. */
  end(outcome: Exit.Exit<unknown, TurnStopped.TurnStopped>): void {
    this.close(Exit.map(outcome, () => false))
  }

  /** Hands in a command synchronously; the returned effect gives its result. */
  steer(command: Command): CommandResult {
    const { commandId } = command.by
    if (this.recorded.has(commandId)) return Effect.succeed(true) // TurnWait.W2
    const known = [this.taken, ...this.inbox].find((pending) => pending?.command.by.commandId === commandId)
    if (known !== undefined) return Deferred.await(known.answer) // TurnWait.W2
    const { expected } = this
    if (!this.isOpen || (expected !== undefined && !RetryStrategy.fits(command, expected.calls)))
      return Effect.succeed(false)
    const pending: Pending = { command, answer: Deferred.makeUnsafe() }
    this.inbox.push(pending)
    this.report()
    return Deferred.await(pending.answer)
  }

  /** Whether there is a command or an elapsed time that the turn has not taken yet. */
  get hasNews(): boolean {
    return this.inbox.length > 0 || this.isDue
  }

  /** Whether there is a command that the turn has not taken yet. */
  get isSteered(): boolean {
    return this.inbox.length > 0
  }

  /** Calls `act` once, when a command arrives or the turn is resumed: now, if that has happened. */
  whenNews(act: () => void): void {
    this.onNews = act
    if (this.isResumed || this.isSteered) this.report()
  }

  /**
   * Ends a sleep: returns the next command, or that the time has come (TurnWait.W3). `over` is called when the whole wait, and not just a
   * part of it, has ended.
   */
  take(over: () => void): Exclude<Wake, { readonly type: "asked" }> {
    this.taken = this.inbox.shift()
    const wake = this.taken?.command ?? ELAPSED
    this.onNews = undefined
    this.isResumed = false
    if (wake.type === "until") this.isDue = false
    // After an early attempt by the gate the wait may continue: clients still count to its end (rule D5).
    if (RetryStrategy.endsWait(wake)) this.ends(RetryStrategy.isEarly(wake) ? () => {} : over)
    return wake
  }

  /** The wait is over, and that is not on record yet. */
  ends(over: () => void): void {
    this.isDue = false
    over()
  }

  private report(): void {
    const { onNews } = this
    if (onNews === undefined) return
    this.onNews = undefined
    this.isResumed = false
    onNews()
  }

  private record(commandId: string): void {
    this.recorded.add(commandId)
    if (this.taken?.command.by.commandId === commandId) resolve(this.taken, DONE)
    const at = this.inbox.findIndex(({ command }) => command.by.commandId === commandId)
    for (const pending of at < 0 ? [] : this.inbox.splice(at, 1)) resolve(pending, DONE)
  }

  private close(answer: Exit.Exit<boolean, TurnStopped.TurnStopped>): void {
    this.isOpen = false
    this.isDue = false
    if (this.taken !== undefined) resolve(this.taken, answer)
    this.taken = undefined
    for (const pending of this.inbox.splice(0)) resolve(pending, answer)
  }
}

// --- internal

/** A command that is not on record yet, and the result that its sender waits for. */
interface Pending {
  readonly command: Command
  readonly answer: Deferred.Deferred<boolean, TurnStopped.TurnStopped>
}

const DONE = Exit.succeed(true)
const NOTHING = Exit.succeed(false)
const ELAPSED = { type: "elapsed" } as const

/** In a microtask: the sender goes on at its answer, and may have the turn leave, which is in the middle of something. */
const resolve = ({ answer }: Pending, outcome: Exit.Exit<boolean, TurnStopped.TurnStopped>): void =>
  queueMicrotask(() => Deferred.doneUnsafe(answer, outcome))
