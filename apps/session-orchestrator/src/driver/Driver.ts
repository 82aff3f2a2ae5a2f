/**
 * Runs turns: the service's shell of `Engine.Turn`. One inbox for all of them, one commit for what a pass has to write.
 *
 * ```
 *   take ──▶ Entrance ──▶ inbox ── a pass: `feed` ──▶ writes of the pass, in one append ──▶ Appended
 *                          ▲ ▲ ▲                              │
 *   a call, by its listener┘ │ └ a fiber: a tool, a summary, … └──▶ Live, Start, Sleep, Sealed
 *   a wait, a command, an abort                                    └──▶ parked, sealed, stopped: the turn leaves
 * ```
 *
 * The content of a call goes to the hub as it comes, without the inbox. A fiber exists for a command that needs one, while it
 * runs.
 *
 * Driver.D1. Nothing is emitted, called or parked before the records that lead there are on disk (`Engine.E1`). A disk that refuses a write
 *     pauses the turn, and does not lose it.
 * Driver.D2. A turn leaves once. What still comes of its calls, commands and waits is dropped.
 * Driver.D3. A pass yields after `AT_ONCE` inputs: others stream meanwhile. A defect in here is a defect of the turn, and is counted (rule
 *     C10); one of a port seals it as failed.
 */
import type { JournalConflict } from "@holdfast/journal"
import { Observer, Records, Turn as KernelTurn, TurnStopped } from "@holdfast/kernel"
import { Engine, Monotonic, Performer, ProviderCall } from "@holdfast/kernel/host"
import { defined, type TurnEvent } from "@holdfast/wire"
import { Cause, Deferred, Effect, Exit, Fiber, MutableList, Option } from "effect"
import type { GateWait } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import { RESIDENT_MS } from "../parking/Parking.ts"
import * as InterruptedTurns from "../recovery/InterruptedTurns.ts"
import type { Session } from "../session/Session.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import type { StoredEvent } from "../storage/Store.ts"
import * as Admission from "../turn/Admission.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import * as Warnings from "../turn/Warnings.ts"
import * as Appends from "./Appends.ts"
import * as DrivenTurn from "./DrivenTurn.ts"
import * as Entrance from "./Entrance.ts"

/** Inputs processed between two turns of the event loop: some milliseconds of the thread. */
const AT_ONCE = 64

/** Where turns go from here. */
interface Exits {
  /** The turn leaves memory for the time of its wait. */
  readonly parked: (
    session: Session,
    turn: TurnLife.TurnLife,
    /** Absent: the turn is still parked, and was in memory ahead of its time. */
    wait: { readonly retryAt: number; readonly awaited: GateWait | undefined } | undefined
  ) => void
  /** The turn is sealed. */
  readonly sealed: (session: Session, turn: TurnLife.TurnLife, end: TurnEvent.TurnEnd) => void
  /** The turn stops unsealed. */
  readonly stopped: (session: Session, turn: TurnLife.TurnLife, error: TurnStopped.TurnStopped) => void
}

type DriverEvent =
  | { readonly _tag: "Entered"; readonly entering: Entering; readonly entered: Entrance.Entered }
  /** Content of the call waits for its mark. */
  | { readonly _tag: "Content"; readonly turn: DrivenTurn.DrivenTurn; readonly call: Performer.Listening }
  | {
      readonly _tag: "Ended"
      readonly turn: DrivenTurn.DrivenTurn
      readonly call: Performer.Listening
      readonly command: Extract<Engine.Command, { readonly _tag: "Call" }>
    }
  | {
      readonly _tag: "Done"
      readonly turn: DrivenTurn.DrivenTurn
      readonly work: DrivenTurn.Performing
      readonly command: Engine.Command
      /** Absent: it was interrupted. */
      readonly outcome: Exit.Exit<Records.TurnRecord["value"], TurnStopped.TurnStopped> | undefined
    }
  /** A write that was refused has its outcome after all. */
  | {
      readonly _tag: "Written"
      readonly turn: DrivenTurn.DrivenTurn
      readonly write: Appends.Write
      readonly outcome: Appends.Outcome
    }
  /** A wait in memory has ended, or a turn that stands by is to continue. */
  | { readonly _tag: "Woken"; readonly turn: DrivenTurn.DrivenTurn; readonly sleep: DrivenTurn.Sleep }
  | { readonly _tag: "Aborted"; readonly turn: DrivenTurn.DrivenTurn }

/** A turn on its way in. */
interface Entering {
  readonly session: Session
  readonly life: TurnLife.TurnLife
  fiber: Fiber.Fiber<void> | undefined
}

const ABORTED: Engine.Cut = { status: "aborted", failure: KernelTurn.aborted }

/** The turns that run. */
export class Driver {
  private readonly services: TurnServices
  private readonly exits: Exits
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private readonly world: ProviderCall.World
  private readonly inbox = MutableList.make<DriverEvent>()
  private readonly entering = new Map<Session, Entering>()
  private readonly turns = new Map<Session, DrivenTurn.DrivenTurn>()
  private readonly entrance: Entrance.Entrance
  private readonly appends: Appends.Appends
  private isRunning = false
  private isOver = false

  /** Passes and commands run by `fork`. */
  constructor(services: TurnServices, exits: Exits, fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.services = services
    this.exits = exits
    this.fork = fork
    const { clock, timer } = services
    const now = () => clock.currentTimeMillisUnsafe()
    this.world = {
      now,
      elapsed: () => Monotonic.millis(clock),
      after: (ms, act) => timer.at(now() + ms, act),
      run: (effect, ended) => {
        const fiber = fork(Effect.flatMap(Effect.exit(effect), (exit) => Effect.sync(() => ended(exit))))
        return () => fiber.interruptUnsafe()
      }
    }
    this.entrance = new Entrance.Entrance(services, fork)
    this.appends = new Appends.Appends(services, fork, {
      act: (turn, act) => {
        if (this.isHere(turn)) this.guarded(turn, act)
        else turn.writing?.done()
      },
      written: (write, stored) => this.recorded(write, stored),
      refused: (turn, error) => this.refused(turn, error),
      later: (write, outcome) => this.enqueue({ _tag: "Written", turn: write.turn, write, outcome })
    })
  }

  /** Runs a turn, the only one of its session. */
  take(session: Session, life: TurnLife.TurnLife): void {
    if (this.isOver) return
    const entering: Entering = { session, life, fiber: undefined }
    this.entering.set(session, entering)
    const act = (entered: Entrance.Entered) => this.enqueue({ _tag: "Entered", entering, entered })
    try {
      const ready = this.entrance.now(session, life)
      if (ready !== undefined) return act(ready)
    } catch (defect) {
      return act({ _tag: "Stopped", error: TurnStopped.ofDefect(defect) })
    }
    entering.fiber = this.fork(Effect.map(this.entrance.wait(session, life), act))
  }

  /** Gives a turn up, unsealed, where there is one; its append is on disk by then, or refused. */
  release(session: Session): Effect.Effect<void> {
    return Effect.suspend(() => {
      const fiber = this.entering.get(session)?.fiber
      this.entering.delete(session)
      const turn = this.turns.get(session)
      if (turn === undefined) return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
      const { performing, writing } = turn
      const ended = Fiber.interruptAll(Array.from(performing).flatMap(({ fiber }) => fiber ?? []))
      this.leave(turn)
      if (writing === undefined) return ended
      const { retry } = writing
      const written =
        retry === undefined
          ? Effect.callback<void>((resume) => void (writing.done = () => resume(Effect.void)))
          : Fiber.interrupt(retry)
      // First: the append may be decided while the fibers end.
      return Effect.andThen(written, ended)
    })
  }

  /** Gives all turns up, because the process shuts down. */
  stop(why: TurnStopped.TurnStopped): void {
    this.isOver = true
    MutableList.clear(this.inbox)
    for (const { fiber, life, session } of this.entering.values()) {
      fiber?.interruptUnsafe()
      this.exits.stopped(session, life, why)
    }
    this.entering.clear()
    for (const turn of this.turns.values()) this.stopped(turn, why)
  }

  // --- passes

  private enqueue(what: DriverEvent): void {
    if (this.isOver) return
    MutableList.append(this.inbox, what)
    if (this.isRunning) return
    this.isRunning = true
    this.fork(this.passes)
  }

  /** Processes the inbox (Driver.D3). */
  private readonly passes: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    while (this.inbox.length > 0) {
      this.appends.during(() => {
        for (const what of MutableList.takeN(this.inbox, AT_ONCE)) this.process(what)
      })
      yield* Effect.yieldNow
    }
    this.isRunning = false
  })

  private process(what: DriverEvent): void {
    if (what._tag === "Entered") return this.enter(what.entering, what.entered)
    const { turn } = what
    if (!this.isHere(turn)) return what._tag === "Written" ? turn.writing?.done() : undefined // Driver.D2
    this.guarded(turn, () => {
      switch (what._tag) {
        case "Content":
          return turn.call === what.call ? this.feed(turn, { _tag: "FirstContent" }) : undefined
        case "Ended":
          return this.ended(turn, what.call, what.command)
        case "Done":
          return this.done(turn, what.work, what.command, what.outcome)
        case "Written":
          return this.appends.decided(what.write, what.outcome)
        case "Woken":
          return turn.sleep === what.sleep ? this.woken(turn, what.sleep) : undefined
        case "Aborted":
          return this.cutOff(turn, ABORTED)
        default:
          return what satisfies never
      }
    })
  }

  /** Driver.D3 */
  private guarded(turn: DrivenTurn.DrivenTurn, act: () => void): void {
    try {
      act()
    } catch (defect) {
      this.stopped(turn, TurnStopped.ofDefect(defect))
    }
  }

  private enter(entering: Entering, entered: Entrance.Entered): void {
    const { life, session } = entering
    if (this.entering.get(session) !== entering) return
    this.entering.delete(session)
    if (entered._tag === "Sealed") return this.exits.sealed(session, life, entered.end)
    if (entered._tag === "Stopped") return this.exits.stopped(session, life, entered.error)
    const { known, resumption } = entered
    let turn: DrivenTurn.DrivenTurn
    try {
      turn = DrivenTurn.make(this.services, session, life, entered)
    } catch (defect) {
      return this.exits.stopped(session, life, TurnStopped.ofDefect(defect))
    }
    this.turns.set(session, turn)
    life.onAbort = () => this.enqueue({ _tag: "Aborted", turn })
    if (Deferred.isDoneUnsafe(life.abort)) turn.cut = ABORTED
    const { persisted } = resumption
    this.guarded(turn, () => this.feed(turn, { _tag: "Begin", known, persisted, cut: turn.cut }))
  }

  /** Takes an input, and performs what follows. */
  private feed(turn: DrivenTurn.DrivenTurn, input: Engine.Input): void {
    const { effects } = turn.engine
    turn.engine.take(input, this.world.now())
    if (turn.isFeeding) return
    turn.isFeeding = true
    for (let effect = effects.shift(); effect !== undefined; effect = effects.shift()) this.perform(turn, effect)
    turn.isFeeding = false
  }

  private perform(turn: DrivenTurn.DrivenTurn, effect: Engine.Effect): void {
    const { life, session } = turn
    switch (effect._tag) {
      case "Append":
        return this.appends.add(turn, effect)
      case "Live":
        return DrivenTurn.live(life, session.hub, effect.event)
      case "Repeat":
        return session.hub.repeated(effect.events) // watchers read them from the disk
      case "Observe":
        return Observer.notify(this.services.observer, effect.kind, effect.observation)
      case "Start":
        return this.start(turn, effect.command)
      case "Release":
        return turn.call?.release()
      case "Sleep":
        return this.sleep(turn, effect)
      case "Stop":
        return this.stopped(turn, effect.error)
      case "Sealed":
        this.leave(turn)
        return this.exits.sealed(session, life, effect.end)
      default:
        return effect satisfies never
    }
  }

  // --- commands

  private start(turn: DrivenTurn.DrivenTurn, command: Engine.Command): void {
    const { engine, life, ports } = turn
    life.begins(false)
    if (command._tag === "Call") return this.call(turn, command)
    const { ledger, setup } = engine.state
    const name = command._tag === "RunTool" ? setup.life : ""
    this.run(
      turn,
      command,
      Effect.suspend(() => Performer.resultOf(ports, ledger, command, { life: name }))
    )
  }

  private call(turn: DrivenTurn.DrivenTurn, command: Extract<Engine.Command, { readonly _tag: "Call" }>): void {
    const { ports } = turn
    const { request } = command
    const call: Performer.Listening = new Performer.Listening(ports.sink, request, this.world.now(), {
      content: () => this.enqueue({ _tag: "Content", turn, call }),
      end: () => this.enqueue({ _tag: "Ended", turn, call, command })
    })
    turn.call = call
    call.begin((listener) => ProviderCall.of(ports.provider)(request, this.world, listener))
  }

  private ended(
    turn: DrivenTurn.DrivenTurn,
    call: Performer.Listening,
    command: Extract<Engine.Command, { readonly _tag: "Call" }>
  ): void {
    if (turn.call !== call || turn.cut !== undefined) return
    const outcome = call.outcome(turn.ports, turn.engine.state.ledger, command)
    if (Effect.isEffect(outcome)) return this.run(turn, command, outcome)
    turn.call = undefined
    this.feed(turn, { _tag: "Done", record: Records.recordOf("Attempt", command, outcome) })
  }

  /** Performs a command in a fiber. */
  private run(
    turn: DrivenTurn.DrivenTurn,
    command: Engine.Command,
    effect: Effect.Effect<Records.TurnRecord["value"], TurnStopped.TurnStopped>
  ): void {
    const work: DrivenTurn.Performing = { fiber: undefined }
    turn.performing.add(work)
    let outcome: Exit.Exit<Records.TurnRecord["value"], TurnStopped.TurnStopped> | undefined
    work.fiber = this.fork(Effect.map(Effect.exit(effect), (exit) => void (outcome = exit)))
    work.fiber.addObserver(() => this.enqueue({ _tag: "Done", turn, work, command, outcome }))
  }

  private done(
    turn: DrivenTurn.DrivenTurn,
    work: DrivenTurn.Performing,
    command: Engine.Command,
    outcome: Extract<DriverEvent, { readonly _tag: "Done" }>["outcome"]
  ): void {
    turn.performing.delete(work)
    if (turn.cut !== undefined) return this.cutWhenQuiet(turn)
    if (outcome !== undefined && Exit.isSuccess(outcome)) {
      if (command._tag === "Call") turn.call = undefined
      const record = Records.recordOf(Engine.kindOf(command), command, outcome.value)
      return this.feed(turn, { _tag: "Done", record })
    }
    const cause = outcome?.cause ?? Cause.interrupt()
    const error = Cause.findErrorOption(cause)
    if (Option.isSome(error)) return this.feed(turn, { _tag: "Refused", error: error.value })
    this.cutOff(turn, { status: "failed", failure: Engine.bug(Cause.squash(cause)) })
  }

  /** Ends what the turn does, and seals it then. */
  private cutOff(turn: DrivenTurn.DrivenTurn, cut: Engine.Cut): void {
    if (turn.cut !== undefined) return
    turn.cut = cut
    if (turn.sleep !== undefined) {
      turn.sleep.stop()
      turn.sleep = undefined
      turn.life.wait.ends(resuming(turn))
      turn.life.goOn()
    }
    turn.call?.cancel()
    for (const { fiber } of turn.performing) fiber?.interruptUnsafe()
    this.cutWhenQuiet(turn)
  }

  private cutWhenQuiet(turn: DrivenTurn.DrivenTurn): void {
    const { call, cut, performing } = turn
    if (performing.size > 0 || cut === undefined) return
    turn.call = undefined
    const said = call && Performer.underWayOf(call.content)
    this.feed(turn, { _tag: "Cut", ...cut, ...defined({ said }) })
  }

  // --- writing

  /** What a turn had to write is on disk. */
  private recorded(
    { append, turn, what: { events, records } }: Appends.Write,
    stored: ReadonlyArray<StoredEvent>
  ): void {
    const { life, session } = turn
    session.hub.persisted(stored)
    turn.seq += append.records.length
    if (events.some((event) => Warnings.of(event).length > 0)) this.fork(Warnings.log(life.turnId, events))
    for (const record of append.records) InterruptedTurns.recorded(life, record)
    for (const { record } of records) {
      if (record.kind !== "Wake") continue
      life.wait.recordedEnd(record.value)
      life.without("place")
      if (record.value.type === "asked") life.without("ticket") // it calls when a person has answered
    }
    this.feed(turn, { _tag: "Appended" })
  }

  private refused(turn: DrivenTurn.DrivenTurn, error: JournalConflict | TurnStopped.TurnStopped): void {
    const stop = error._tag === "TurnStopped" ? error : new TurnStopped.TurnStopped({ message: error.message })
    this.feed(turn, { _tag: "Refused", error: stop })
  }

  // --- waits

  private sleep(turn: DrivenTurn.DrivenTurn, starts: DrivenTurn.Sleep["starts"]): void {
    const { awaited: wanted, calls, leftMs, retryAt } = starts
    const { life, session } = turn
    const { gates, timer } = this.services
    const now = this.world.now()
    // After a clock was set back the end is no further away than the wait is long.
    const end = Math.min(retryAt, now + leftMs)
    const awaited = wanted && Gates.waitOf(gates, life.turnId, wanted)
    life.begins(true)
    life.wait.expect(calls)
    const { isCalled, standsBy } = life
    if (!standsBy) {
      if (life.wait.hasNews) return this.wakes(turn, awaited)
      if (!isCalled && end - now > RESIDENT_MS) {
        this.leave(turn)
        return this.exits.parked(session, life, { retryAt: end, awaited })
      }
    }
    // A turn that was read ahead of its time stands by until it is resumed.
    let stop = nothing
    const sleep: DrivenTurn.Sleep = { starts, awaited, stop: () => stop() }
    const woken = () => this.enqueue({ _tag: "Woken", turn, sleep })
    turn.sleep = sleep
    if (!standsBy) {
      const due = () => {
        life.wait.elapse()
        woken()
      }
      const at = (end: number, act: () => void) => (end <= now ? (act(), nothing) : timer.at(end, act))
      stop = Admission.sleep(at, life, end, awaited, { due, held: (until) => session.hub.held(until) })
    }
    life.wait.whenNews(woken)
  }

  private woken(turn: DrivenTurn.DrivenTurn, { awaited, starts, stop }: DrivenTurn.Sleep): void {
    const { life, session } = turn
    stop()
    turn.sleep = undefined
    life.goOn()
    if (life.wait.hasNews) return this.wakes(turn, awaited)
    // It was taken up for a command that has nothing to do: it waits on.
    if (life.residence !== "parked") return this.sleep(turn, starts)
    this.leave(turn)
    this.exits.parked(session, life, undefined)
  }

  /** A wait, or a part of it, ends. */
  private wakes(turn: DrivenTurn.DrivenTurn, awaited: GateWait | undefined): void {
    const { life } = turn
    const wake = Admission.atGate(life.wait.take(resuming(turn)), life, awaited)
    this.feed(
      turn,
      wake.type === "elapsed" ? { _tag: "Due", ...defined({ heldMs: wake.heldMs }) } : { _tag: "Steered", wake }
    )
  }

  // --- leaving

  private isHere(turn: DrivenTurn.DrivenTurn): boolean {
    return this.turns.get(turn.session) === turn
  }

  private stopped(turn: DrivenTurn.DrivenTurn, error: TurnStopped.TurnStopped): void {
    if (this.leave(turn)) this.exits.stopped(turn.session, turn.life, error)
  }

  /** Ends what the turn does; returns whether it was here. */
  private leave(turn: DrivenTurn.DrivenTurn): boolean {
    if (!this.isHere(turn)) return false
    const { call, engine, performing, life, session, sleep } = turn
    this.turns.delete(session)
    life.onAbort = undefined
    sleep?.stop()
    call?.cancel()
    for (const { fiber } of performing) fiber?.interruptUnsafe()
    engine.effects.length = 0
    if (call === undefined) return true
    engine.take({ _tag: "Released" }, this.world.now())
    for (const effect of engine.effects.splice(0))
      if (effect._tag === "Observe") Observer.notify(this.services.observer, effect.kind, effect.observation)
    return true
  }
}

// --- internal

const nothing = (): void => {}

/** The wait of a turn is not in progress any more. */
const resuming =
  ({ session: { hub } }: DrivenTurn.DrivenTurn): (() => void) =>
  () =>
    hub.inProgress.resume()
