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
import type { TurnEvent } from "@holdfast/wire"
import * as Arr from "effect/Array"
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
import type { TurnStopped } from "../ports/TurnStopped.ts"
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
  private readonly setup: Engine.Setup
  private readonly turn: Engine.Turn
  private name: string | undefined
  private content: Performer.Content | undefined = undefined
  private isFlushing = false
  private fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  private isRestored = false
  private isToAbort = false
  /** An abort has ended the turn, which is to be cut. */
  isAborted = false

  /** `name` is that of the life; absent: drawn. */
  constructor(ports: Ports, setup: Engine.Setup, name: string | undefined) {
    this.ports = ports
    this.setup = setup
    this.name = name
    this.turn = new Engine.Turn(Engine.make(setup))
  }

  /** The name of this life, unique among the lives of the turn. */
  get life(): string {
    return (this.name ??= String(this.ports.draw()))
  }

  /** Runs the turn to its seal. */
  toSeal(): Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> {
    return Effect.suspend(() => {
      this.turn.take({ _tag: "Begin", known: this.ports.checkpoint.known ?? [], persisted: [] })
      return this.goOn()
    }).pipe(
      Effect.catch((error) => this.failed(error)),
      Effect.catchDefect((defect) => this.cut({ status: "failed", failure: Engine.bug(defect) }))
    )
  }

  /** The turn, whose fiber an abort ends. */
  abortable(): Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> {
    return Effect.withFiber((fiber) => {
      this.fiber = fiber
      return this.toSeal()
    })
  }

  /** Aborts the turn, as soon as it has restored its state (Life.L3). */
  readonly abort = (): void => {
    this.isToAbort = true
    if (this.isRestored) this.end()
  }

  /** Seals the turn; on a sealed turn it only returns the seal. */
  cut(cut: Engine.Cut): Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> {
    return Effect.suspend(() => {
      const { content, turn } = this
      // The log has to confirm what the engine has handed in; nothing else that it wanted happens.
      this.keep("Append", "Observe", "Sealed")
      this.isFlushing = false
      turn.take({ _tag: "Cut", ...cut, ...(content && { said: Performer.underWayOf(content) }) }, this.ports.now())
      return this.goOn()
    }).pipe(
      Effect.catch((error) => this.failed(error)),
      Effect.uninterruptible
    )
  }

  /** The process gives the turn up. */
  release(): void {
    // No later life observes what is on disk already.
    this.keep("Observe")
    this.turn.take({ _tag: "Released" }, this.ports.now())
    this.emit()
  }

  // --- effects of the engine

  /** Drops what is due, except some kinds. */
  private keep(...kinds: ReadonlyArray<Engine.Effect["_tag"]>): void {
    const { effects } = this.turn
    effects.splice(0, Infinity, ...effects.filter(({ _tag }) => kinds.includes(_tag)))
  }

  private goOn(): Effect.Effect<TurnEvent.TurnEnd, Failed> {
    for (;;) {
      const flushed = this.flush()
      const done = hasSucceeded(flushed) ? this.next() : flushed
      if (!hasSucceeded(done)) return Effect.flatMap(done, (end) => (end ? Effect.succeed(end) : this.goOn()))
      if (done.value) return Effect.succeed(done.value)
    }
  }

  private failed(error: Failed): Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> {
    if (error._tag === "SleepFailure")
      return this.cut({ status: "failed", failure: { reason: "unknown", message: error.message, retryable: false } }) // D14
    if (error._tag === "TurnStopped") {
      this.turn.take({ _tag: "Refused", error }, this.ports.now())
      this.emit()
    }
    return Effect.fail(error)
  }

  /** Performs what is due up to a command, the seal or a stop; one fiber at a time does. */
  private flush(): Effect.Effect<void, TurnStopped> {
    const { effects } = this.turn
    for (;;) {
      this.emit()
      const [effect] = effects
      if (effect?._tag === "Stop") return Effect.fail(effect.error)
      if (effect?._tag !== "Append" || this.isFlushing) return Effect.void
      const { events, position } = effect
      const persisted = Arr.isReadonlyArrayNonEmpty(events) ? this.ports.sink.persist(events, position) : Effect.void
      if (!hasSucceeded(persisted)) return this.persisting(persisted)
      effects.shift()
      this.turn.take({ _tag: "Appended" })
    }
  }

  private persisting(persisted: Effect.Effect<void, TurnStopped>): Effect.Effect<void, TurnStopped> {
    this.isFlushing = true
    const persisting = Effect.suspend(() => {
      this.turn.effects.shift()
      return Effect.match(persisted, {
        onFailure: (error): Engine.Input => ({ _tag: "Refused", error }),
        onSuccess: (): Engine.Input => ({ _tag: "Appended" })
      })
    })
    const taken = Effect.map(persisting, (input) => {
      this.isFlushing = false
      this.turn.take(input, this.ports.now())
    })
    return Effect.flatMap(Effect.uninterruptible(taken), () => this.flush())
  }

  /** Emits what is due and needs no fiber. */
  private emit(): void {
    const { effects } = this.turn
    for (;;) {
      const [effect] = effects
      if (effect?._tag === "Live") this.ports.sink.live(effect.event)
      else if (effect?._tag === "Observe") notify(this.setup.observer, effect.kind, effect.observation)
      else return
      effects.shift()
    }
  }

  /** Performs the next commands, or returns the seal. */
  private next(): Effect.Effect<TurnEvent.TurnEnd | void, Failed> {
    const { effects } = this.turn
    const effect = effects.shift()
    if (effect?._tag === "Sealed") return Effect.succeed(effect.end)
    if (effect?._tag !== "Start") throw new Error("there is nothing left to do in the turn")
    if (effects.length === 0) return this.begun(effect.command)
    // Tool calls run at the same time; the result of each is emitted as soon as those before it are.
    const others = effects.flatMap((each) => (each._tag === "Start" ? [each.command] : []))
    effects.length = 0
    const flush = Effect.suspend(() => this.flush())
    const each = (command: Engine.Command) => Effect.andThen(this.begun(command), flush)
    return Effect.forEach([effect.command, ...others], each, { concurrency: "unbounded", discard: true })
  }

  // --- commands

  /** Performs a command. The beginning of a tool call has a record of its own (X8). */
  private begun(command: Engine.Command): Effect.Effect<void, Failed> {
    if (command._tag !== "RunTool") return this.recorded(command)
    const beginning = Commands.beginningOf(this, this.turn.state.ledger, command)
    if (beginning === undefined) return this.recorded(command)
    const name = Records.nameOf("Begun", beginning.step, beginning.number)
    const begun = this.ports.checkpoint.run(name, Records.Begun, this.opened(Effect.succeed(beginning.value)))
    return Effect.flatMap(begun, (value) => this.recorded({ ...command, begun: value }))
  }

  /** Performs a command whose result is recorded, and folds it in. */
  private recorded(command: Engine.Command): Effect.Effect<void, Failed> {
    const { checkpoint } = this.ports
    const kind = Commands.kindOf(command)
    const name = Records.nameOf(kind, command.step, command.number, "part" in command ? command.part : undefined)
    if (command._tag === "Call") this.content = Performer.contentOf(command.request)
    // An engine that looks ahead has no record left by now.
    let isNew = checkpoint.known !== undefined
    const performed = Effect.suspend(() => {
      isNew = true
      const result = this.perform(command)
      if (this.setup.observer === undefined) return result
      return Effect.mapEager(result, (value) => {
        this.turn.take({ _tag: "Performed", record: Records.recordOf(kind, command, value) }, this.ports.now())
        this.emit()
        return value
      })
    })
    const isSeal = kind === "Seal"
    const recorded = Effect.mapEager(
      checkpoint.run(name, Records.kinds[kind].schema, isSeal ? performed : this.opened(performed)),
      (value) => {
        this.content = undefined
        this.turn.take({ _tag: "Done", record: Records.recordOf(kind, command, value), isTakenUp: !isNew })
      }
    )
    return isSeal ? Effect.uninterruptible(recorded) : recorded
  }

  private perform(command: Engine.Command): Effect.Effect<Value, Failed> {
    const { cut, ledger } = this.turn.state
    const at = this.ports.now()
    if (command._tag === "Seal") return Effect.succeed(cut === undefined ? { at } : { at, cut })
    const immediate = Commands.recordOf(this.setup, ledger, command, at)
    if (immediate !== undefined) return Effect.succeed(immediate.value)
    this.turn.take({ _tag: "Performs", command }, at)
    this.emit()
    const { strategy } = this.ports
    if (strategy && Commands.isWaiting(command)) return this.sleep(command, strategy)
    const life = command._tag === "RunTool" ? this.life : ""
    return Performer.resultOf(this.ports, ledger, command, { life, content: this.content, mark: this.mark(command) })
  }

  /** Suspended: the fiber keeps this effect, and would keep the write with it. */
  private mark(command: Engine.Command): Effect.Effect<void, TurnStopped> {
    return Effect.suspend(() => {
      this.turn.take({ _tag: "FirstContent" }, this.ports.now())
      return this.ports.checkpoint.mark?.(Records.nameOf("Content", command.step, command.number)) ?? Effect.void
    })
  }

  private sleep(waiting: Commands.Waiting, strategy: RetryStrategy["Service"]): Effect.Effect<Records.Wake, Failed> {
    const { now } = this.ports
    const { awaited, calls, leftMs } = Commands.sleepOf(waiting, now())
    const slept = Effect.catchCause(strategy.sleep(Duration.millis(leftMs), awaited, calls), failed)
    return Effect.flatMap(slept, (wake) => {
      const record = Commands.wakeOf(waiting, wake ?? ELAPSED, strategy.ask, now())
      return record === undefined ? this.sleep(waiting, strategy) : Effect.succeed(record)
    })
  }

  // --- aborts

  /** An effect that runs because it has no record (Life.L3). */
  private opened<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    if (this.isRestored) return effect
    return Effect.suspend(() => {
      this.isRestored = !this.isToAbort
      if (this.isRestored) return effect
      this.end()
      // Gives way to the end of the turn. Several tools may come here at once, in fibers of their own, and each gives way.
      return Effect.andThen(Effect.yieldNow, effect)
    })
  }

  private end(): void {
    this.isAborted = true
    this.fiber?.interruptUnsafe()
  }
}

// --- internal

type Failed = SleepFailure | TurnParked | TurnStopped
type Value = Records.TurnRecord["value"]

const ELAPSED: Records.Wake = { type: "elapsed" }

/** Whether an effect has its result already, so that no fiber is needed for it. */
const hasSucceeded = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)

/** D14. A sleep that interrupts itself has failed too; when the turn is interrupted no handler runs. */
const failed = <E>(cause: Cause.Cause<E>): Effect.Effect<never, E | SleepFailure> => {
  const message = `The wait could not be slept: ${CallFailure.whyOf(cause)}`
  return Effect.fail(Option.getOrElse(Cause.findErrorOption(cause), () => new SleepFailure({ message })))
}
