/**
 * One life of a turn over the kernel's ports: the shell of `Engine.step` behind `Turn.runTurn`.
 *
 * It performs the engine's effects in their order, on the turn's fiber. What needs no fiber is done in one loop, without one: records that
 * are at hand, and their events. The tool calls of a response have fibers of their own.
 *
 * Life.L1. Interrupting the effect is no abort: the turn stops unsealed, and can resume.
 * Life.L2. No effect of the checkpoint is part of another. Persisting events and sealing are not interrupted.
 * Life.L3. An abort takes effect when the turn has restored its state, at the first command without a record: before that it has not
 *     counted the events of its last life yet, and a seal would take the position of one of them.
 */
import type { Failure, TurnEvent } from "@holdfast/wire"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as CallFailure from "../calls/CallFailure.ts"
import type { Checkpoint } from "../ports/Checkpoint.ts"
import type { EventSink } from "../ports/EventSink.ts"
import { notify } from "../ports/Observer.ts"
import { type RetryStrategy, SleepFailure } from "../ports/RetryStrategy.ts"
import type { TurnParked } from "../ports/TurnParked.ts"
import { ofDefect, type TurnStopped } from "../ports/TurnStopped.ts"
import * as Records from "../records/Records.ts"
import * as Engine from "./Engine.ts"
import * as Commands from "./Commands.ts"
import * as Performer from "./Performer.ts"

/** The ports of a turn. */
export interface Ports extends Performer.Ports {
  readonly checkpoint: Checkpoint["Service"]
  readonly sink: EventSink["Service"]
  readonly strategy: RetryStrategy["Service"] | undefined
}

/** One life of one turn. */
export class Life {
  private readonly ports: Ports
  private state: Engine.State
  /** Effects of the engine to perform, in order. */
  private due: ReadonlyArray<Engine.Effect> = []
  private content: Performer.Content | undefined = undefined
  private isFlushing = false
  private fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  private abortion: "none" | "waits" | "done" = "none"
  private isRestored = false

  constructor(ports: Ports, setup: Engine.Setup) {
    this.ports = ports
    this.state = Engine.make(setup)
  }

  /** Runs the turn to its seal. */
  readonly toSeal: Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> = Effect.suspend(() => {
    this.take({ _tag: "Begin", known: this.ports.checkpoint.known ?? [], persisted: [] })
    return this.ending
  }).pipe(Effect.catchDefect((defect) => this.cut({ status: "failed", failure: bug(defect) })))

  /** The turn, whose fiber an abort ends. */
  get abortable(): typeof this.toSeal {
    return Effect.withFiber((fiber) => {
      this.fiber = fiber
      return this.toSeal
    })
  }

  /** Aborts the turn, as soon as it has restored its state (Life.L3). */
  readonly abort = (): void => {
    if (this.abortion === "none") this.abortion = "waits"
    if (this.isRestored) this.endForAbort()
  }

  /** An abort has ended the turn, which is to be cut. */
  get isAborted(): boolean {
    return this.abortion === "done"
  }

  /** Seals the turn; on a sealed turn it only returns the seal. */
  cut(cut: Engine.Cut): Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> {
    return Effect.suspend(() => {
      // The log has to confirm what the engine has handed in; nothing else that it wanted happens.
      this.due = this.due.filter(({ _tag }) => _tag === "Append" || _tag === "Observe" || _tag === "Sealed")
      this.isFlushing = false
      const { content } = this
      this.take({ _tag: "Cut", ...cut, ...(content && { said: Performer.underWayOf(content) }) })
      return this.ending
    }).pipe(Effect.uninterruptible)
  }

  /** The process gives the turn up. */
  readonly release: Effect.Effect<void> = Effect.sync(() => {
    this.due = []
    this.take({ _tag: "Released" })
    this.emitted()
  })

  // --- effects of the engine

  private take(input: Engine.Input): void {
    const [state, effects] = Engine.step(this.state, input, this.ports.now())
    this.state = state
    this.due = this.due.length === 0 ? effects : [...this.due, ...effects]
  }

  private readonly ending: Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> = Effect.suspend(() => {
    for (;;) {
      const flushed = this.flush()
      const done = hasSucceeded(flushed) ? this.next() : flushed
      if (!hasSucceeded(done)) return Effect.flatMap(done, (end) => (end ? Effect.succeed(end) : this.ending))
      if (done.value) return Effect.succeed(done.value)
    }
  })

  /** Performs what is due up to a command, the seal or a stop; one fiber at a time does. */
  private flush(): Effect.Effect<void, TurnStopped> {
    for (;;) {
      this.emitted()
      const [effect] = this.due
      if (effect?._tag === "Stop") return Effect.fail(effect.error)
      if (effect?._tag !== "Append" || this.isFlushing) return Effect.void
      const [first, ...rest] = effect.events
      if (first === undefined) throw new Error("the engine has no records to append here")
      const persisted = this.ports.sink.persist([first, ...rest], effect.position)
      if (!hasSucceeded(persisted)) {
        this.isFlushing = true
        return Effect.flatMap(this.persisting(persisted), () => this.flush())
      }
      this.shift()
      this.take({ _tag: "Appended" })
    }
  }

  private persisting(persisted: Effect.Effect<void, TurnStopped>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.shift()
      return Effect.match(persisted, {
        onFailure: (error) => this.persisted({ _tag: "Refused", error }),
        onSuccess: () => this.persisted({ _tag: "Appended" })
      })
    }).pipe(Effect.uninterruptible)
  }

  private persisted(input: Engine.Input): void {
    this.isFlushing = false
    this.take(input)
  }

  /** Emits what is due and needs no fiber. */
  private emitted(): void {
    for (;;) {
      const [effect] = this.due
      if (effect?._tag === "Live") this.ports.sink.live(effect.event)
      else if (effect?._tag === "Observe") notify(this.state.setup.observer, effect.kind, effect.observation)
      else return
      this.shift()
    }
  }

  private shift(): void {
    this.due = this.due.slice(1)
  }

  /** Performs the next commands, or returns the seal. */
  private next(): Effect.Effect<TurnEvent.TurnEnd | void, TurnParked | TurnStopped> {
    const [effect] = this.due
    if (effect?._tag === "Sealed") return Effect.succeed(effect.end)
    const commands = this.due.flatMap((each) => (each._tag === "Start" ? [each.command] : []))
    const [command] = commands
    if (command === undefined) throw new Error("there is nothing left to do in the turn")
    this.due = []
    return commands.length === 1 ? this.performing(command) : this.together(commands)
  }

  /** Performs tool calls at the same time; the result of each is emitted as soon as those before it are. */
  private together(commands: ReadonlyArray<Engine.Command>): Effect.Effect<void, TurnParked | TurnStopped> {
    const flush = Effect.suspend(() => this.flush())
    const each = (command: Engine.Command) => Effect.andThen(this.performing(command), flush)
    return Effect.forEach(commands, each, { concurrency: commands.length, discard: true })
  }

  // --- commands

  private performing(command: Engine.Command): Effect.Effect<void, TurnParked | TurnStopped> {
    const recorded = command._tag === "RunTool" ? this.begun(command) : this.recorded(command)
    return Effect.catch(recorded, (error): Effect.Effect<void, TurnParked | TurnStopped> => {
      if (error._tag === "TurnParked") return Effect.fail(error)
      if (error._tag === "TurnStopped") {
        this.take({ _tag: "Refused", error })
        return this.flush()
      }
      const failure: Failure.Failure = { reason: "unknown", message: error.message, retryable: false } // D14
      this.take({ _tag: "Cut", status: "failed", failure })
      return Effect.void
    })
  }

  /** Runs a tool call, whose beginning has a record of its own (X8). */
  private begun(command: Extract<Engine.Command, { readonly _tag: "RunTool" }>) {
    const { checkpoint } = this.ports
    const { ledger, setup } = this.state
    const beginning = Commands.beginningOf(setup, ledger, command)
    if (beginning === undefined) return this.recorded(command)
    const { number, step, value } = beginning
    const begun = checkpoint.run(
      Records.nameOf("Begun", step, number),
      Records.Begun,
      this.opened(Effect.succeed(value))
    )
    return Effect.flatMap(begun, (value) => this.recorded({ ...command, begun: value }))
  }

  /** Performs a command whose result is recorded, and folds it in. */
  private recorded(command: Engine.Command): Effect.Effect<void, SleepFailure | TurnParked | TurnStopped> {
    const { checkpoint } = this.ports
    const kind = Commands.kindOf(command)
    const name = Records.nameOf(kind, command.step, command.number, "part" in command ? command.part : undefined)
    if (command._tag === "Call") this.content = Performer.contentOf(command.request)
    // An engine that looks ahead has no record left by now.
    let isNew = checkpoint.known !== undefined
    const performed = Effect.suspend(() => {
      isNew = true
      const value = this.perform(command)
      if (this.state.setup.observer === undefined) return value
      return Effect.map(value, (value) => {
        this.take({ _tag: "Performed", record: Records.recordOf(kind, command, value) })
        this.emitted()
        return value
      })
    })
    const effect = kind === "Seal" ? performed : this.opened(performed)
    const recorded = Effect.mapEager(checkpoint.run(name, Records.kinds[kind].schema, effect), (value) => {
      this.content = undefined
      this.take({ _tag: "Done", record: Records.recordOf(kind, command, value), isTakenUp: !isNew })
    })
    return kind === "Seal" ? Effect.uninterruptible(recorded) : recorded
  }

  private perform(
    command: Engine.Command
  ): Effect.Effect<Records.TurnRecord["value"], SleepFailure | TurnParked | TurnStopped> {
    const { cut, ledger, setup } = this.state
    const at = this.ports.now()
    if (command._tag === "Seal") return Effect.succeed(cut === undefined ? { at } : { at, cut })
    const immediate = Commands.recordOf(setup, ledger, command, at)
    if (immediate !== undefined) return Effect.succeed(immediate.value)
    this.take({ _tag: "Performs", command })
    this.emitted()
    if (command._tag === "Wait" || command._tag === "Ask") return this.sleep(command)
    const { content = Performer.contentOf({}) } = this
    const life = { life: setup.life, content, mark: this.mark(command) }
    return Effect.map(Performer.perform(this.ports, ledger, command, life), ({ value }) => value)
  }

  /** Suspended: the fiber keeps this effect, and would keep the write with it. */
  private mark(command: Engine.Command): Effect.Effect<void, TurnStopped> {
    return Effect.suspend(() => {
      this.take({ _tag: "FirstContent" })
      return this.ports.checkpoint.mark?.(Records.nameOf("Content", command.step, command.number)) ?? Effect.void
    })
  }

  private sleep(waiting: Commands.Waiting): Effect.Effect<Records.Wake, SleepFailure | TurnParked | TurnStopped> {
    const { now, strategy } = this.ports
    if (strategy === undefined) throw new Error("without a strategy there is no wait")
    const { awaited, calls, leftMs } = Commands.sleepOf(waiting, now())
    const slept = Effect.catchCause(strategy.sleep(Duration.millis(leftMs), awaited, calls), failed)
    return Effect.flatMap(slept, (wake) => {
      const record = Commands.wakeOf(waiting, wake ?? ELAPSED, strategy.ask, now())
      return record === undefined ? this.sleep(waiting) : Effect.succeed(record)
    })
  }

  // --- aborts

  /** An effect that runs because it has no record (Life.L3). */
  private opened<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    if (this.isRestored) return effect
    return Effect.suspend(() => {
      this.isRestored = this.abortion === "none"
      if (this.isRestored) return effect
      this.endForAbort()
      // Gives way to the end of the turn. Several tools may come here at once, in fibers of their own, and each gives way.
      return Effect.andThen(Effect.yieldNow, effect)
    })
  }

  private endForAbort(): void {
    this.abortion = "done"
    this.fiber?.interruptUnsafe()
  }
}

// --- internal

const ELAPSED: Records.Wake = { type: "elapsed" }

/** Whether an effect has its result already, so that no fiber is needed for it. */
const hasSucceeded = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)

const failed = <E>(cause: Cause.Cause<E>): Effect.Effect<never, E | SleepFailure> =>
  Effect.fail(Option.getOrElse(Cause.findErrorOption(cause), () => unslept(cause)))

/** D14. A sleep that interrupts itself has failed too; when the turn is interrupted no handler runs. */
const unslept = (cause: Cause.Cause<unknown>): SleepFailure =>
  new SleepFailure({ message: `The wait could not be slept: ${CallFailure.whyOf(cause)}` })

const bug = (defect: unknown): Failure.Failure => ({
  reason: "unknown",
  message: ofDefect(defect).message,
  retryable: false,
  defect: true
})
