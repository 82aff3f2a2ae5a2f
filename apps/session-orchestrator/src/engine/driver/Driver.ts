/**
 * Runs turns: the service's shell of `Engine.Turn`. One inbox for all of them, one commit for what a pass has to write.
 *
 * The content of a call goes to the hub as it comes, without the inbox. A fiber exists for a command that needs one, while it runs.
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
import { Basis } from "@holdfast/policy"
import { defined, type TurnEvent } from "@holdfast/wire"
import { Cause, Deferred, Effect, Exit, Fiber, MutableList, Option } from "effect"
import * as InterruptedTurns from "../recovery/InterruptedTurns.ts"
import type { Session } from "../session/Session.ts"
import type { Draft, TurnLife } from "../session/TurnLife.ts"
import type { StoredEvent } from "../../storage/Stored.ts"
import type * as TurnLog from "../../storage/TurnLog.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import * as Appends from "./Appends.ts"
import * as Driven from "./DrivenTurn.ts"
import type { DrivenTurn } from "./DrivenTurn.ts"
import * as Entrance from "./Entrance.ts"
import * as Waits from "./Waits.ts"
import * as Warnings from "./Warnings.ts"

/** Inputs processed between two turns of the event loop: some milliseconds of the thread. */
const AT_ONCE = 64

/** Where turns go from here. */
export interface Exits {
  /** The turn leaves memory; without a wait it is still parked, and was in memory ahead of its time. */
  readonly parked: (session: Session, turn: TurnLife, wait: Driven.Leaving | undefined) => void
  readonly sealed: (session: Session, turn: TurnLife, end: TurnEvent.TurnEnd) => void
  /** The turn stops unsealed. */
  readonly stopped: (session: Session, turn: TurnLife, error: TurnStopped.TurnStopped) => void
}

/** A turn on its way in. */
interface Entering {
  readonly session: Session
  readonly life: TurnLife
  fiber: Fiber.Fiber<void> | undefined
}

type Call = Extract<Engine.Command, { readonly _tag: "Call" }>

const ABORTED: Engine.Cut = { status: "aborted", failure: KernelTurn.aborted }

/**
 * The turns that run.
 *
 * ```
 *   take ──▶ Entrance ──▶ inbox ── a pass: `feed` ──▶ writes of the pass, in one append ──▶ Appended
 *                          ▲ ▲ ▲                              │
 *   a call, by its listener┘ │ └ a fiber: a tool, a summary, … └──▶ Live, Start, Sleep, Sealed
 *   a wait, a command, an abort                                    └──▶ parked, sealed, stopped: the turn leaves
 * ```
 */
export class Driver implements Appends.Loop, Waits.Loop {
  readonly services: TurnServices
  private readonly exits: Exits
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private readonly world: ProviderCall.World
  private readonly inbox = MutableList.make<() => void>()
  private readonly entering = new Map<Session, Entering>()
  private readonly turns = new Map<Session, DrivenTurn>()
  private readonly appends: Appends.Appends
  private isRunning = false
  private isSettling = false
  private isOver = false

  /** Passes and commands run by `fork`. */
  constructor(services: TurnServices, exits: Exits, fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.services = services
    this.exits = exits
    this.fork = fork
    const { clock, timer } = services
    this.world = {
      now: () => clock.currentTimeMillisUnsafe(),
      elapsed: () => Monotonic.millis(clock),
      after: (ms, act) => timer.at(clock.currentTimeMillisUnsafe() + ms, act),
      run: (effect, ended) => {
        const fiber = fork(Effect.flatMap(Effect.exit(effect), (exit) => Effect.sync(() => ended(exit))))
        return () => fiber.interruptUnsafe()
      }
    }
    this.appends = new Appends.Appends(services, fork, this)
  }

  /** Runs a turn, the only one of its session. */
  take(session: Session, life: TurnLife): void {
    if (this.isOver) return
    const entering: Entering = { session, life, fiber: undefined }
    this.entering.set(session, entering)
    entering.fiber = this.fork(
      Effect.map(Entrance.enter(this.services, session, life), (entered) =>
        this.later(() => this.enter(entering, entered))
      )
    )
  }

  /** Gives a turn up, unsealed, where there is one; its append is on disk by then, or refused. */
  release(session: Session): Effect.Effect<void> {
    return Effect.suspend(() => {
      const fiber = this.entering.get(session)?.fiber
      this.entering.delete(session)
      const turn = this.turns.get(session)
      if (turn === undefined) return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
      const { performing, writing } = turn
      const ended = Fiber.interruptAll(performing)
      const decided = Deferred.makeUnsafe<void>()
      // It may be decided from here on.
      if (writing !== undefined) writing.done = () => Deferred.doneUnsafe(decided, Exit.void)
      this.leave(turn)
      if (writing === undefined) return ended
      const { isBegun, over, retry } = writing
      const written = retry === undefined ? (isBegun ? Deferred.await(decided) : Effect.void) : Fiber.interrupt(retry)
      return Effect.ensuring(Effect.andThen(written, ended), Effect.sync(over))
    })
  }

  /** Begins no answer from now on, because the process is to end. Returns whether those that have begun are over, and on disk. */
  settle(): boolean {
    this.isSettling = true
    const isWritten = ({ writing }: DrivenTurn) => writing === undefined || writing.retry !== undefined
    return this.turns.values().every((turn) => turn.engine.state.call?.firstContentAt === undefined && isWritten(turn))
  }

  /** Gives all turns up, because the process shuts down. */
  stop(why: TurnStopped.TurnStopped): void {
    this.isOver = true
    for (const { life, session } of this.entering.values()) {
      this.exits.stopped(session, life, why)
    }
    this.entering.clear()
    for (const turn of this.turns.values()) this.stopped(turn, why)
  }

  // --- passes

  /** Acts in a later pass. */
  later(act: () => void): void {
    if (this.isOver) return
    MutableList.append(this.inbox, act)
    if (this.isRunning) return
    this.isRunning = true
    this.fork(this.passes)
  }

  /** Processes the inbox (Driver.D3). */
  private readonly passes: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    while (this.inbox.length > 0) {
      this.appends.during(() => {
        for (const act of MutableList.takeN(this.inbox, AT_ONCE)) act()
      })
      yield* Effect.yieldNow
    }
    this.isRunning = false
  })

  /** Acts in a later pass, on behalf of a turn. */
  soon(turn: DrivenTurn, act: () => void): void {
    this.later(() => this.during(turn, act))
  }

  /** Acts on behalf of a turn, if it has not left (Driver.D2, Driver.D3). */
  private during(turn: DrivenTurn, act: () => void, hasLeft = nothing): void {
    if (!this.isHere(turn)) return hasLeft()
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
    let turn: DrivenTurn
    try {
      turn = Driven.make(this.services, session, life, entered)
    } catch (defect) {
      return this.exits.stopped(session, life, TurnStopped.ofDefect(defect))
    }
    this.turns.set(session, turn)
    life.onAbort = () => this.soon(turn, () => this.cutOff(turn, ABORTED))
    if (Deferred.isDoneUnsafe(life.abort)) turn.cut = ABORTED
    this.during(turn, () => this.feed(turn, { _tag: "Begin", known, persisted: resumption.persisted, cut: turn.cut }))
  }

  /** Takes an input, and performs what follows. */
  feed(turn: DrivenTurn, input: Engine.Input): void {
    const { effects } = turn.engine
    turn.engine.take(input, this.world.now())
    if (turn.isFeeding) return
    turn.isFeeding = true
    for (let effect = effects.shift(); effect !== undefined; effect = effects.shift()) this.perform(turn, effect)
    turn.isFeeding = false
  }

  private perform(turn: DrivenTurn, effect: Engine.Effect): void {
    const { life, session } = turn
    switch (effect._tag) {
      case "Append":
        return life.draft === undefined ? this.appends.add(turn, effect) : this.drafted(turn, life.draft, effect)
      case "Live":
        return Driven.live(life, session.hub, effect.event)
      case "Repeat":
        return session.hub.repeated(effect.events) // watchers read them from the disk
      case "Observe":
        return Observer.notify(turn.observer, effect.kind, effect.observation)
      case "Start":
        return this.start(turn, effect.command)
      case "Release":
        return turn.call?.release()
      case "Sleep":
        return Waits.sleep(this, turn, effect)
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

  private start(turn: DrivenTurn, command: Engine.Command): void {
    const { engine, life, ports } = turn
    life.begins(false)
    if (command._tag === "Call") return this.call(turn, command)
    const { ledger, setup } = engine.state
    let performed: Performed
    try {
      performed = Performer.resultOf(ports, ledger, command, { life: command._tag === "RunTool" ? setup.life : "" })
    } catch (defect) {
      performed = Exit.die(defect)
    }
    this.run(turn, command, performed)
  }

  private call(turn: DrivenTurn, command: Call): void {
    if (this.isSettling) return
    const { ports } = turn
    const { request } = command
    const begunAt = this.world.now()
    const call: Performer.Listening = new Performer.Listening(ports.sink, request, Performer.contentOf(request), {
      content: () => this.soon(turn, () => this.content(turn, call)),
      end: () => this.soon(turn, () => this.ended(turn, { call, begunAt }, command))
    })
    turn.call = call
    call.begin((listener) => ProviderCall.of(ports.provider)(request, this.world, listener))
  }

  /** A process that is to end shows nothing that it cannot finish: the next one asks again, and nothing is void. */
  private content(turn: DrivenTurn, call: Performer.Listening): void {
    if (turn.call === call && !this.isSettling) this.feed(turn, { _tag: "FirstContent" })
  }

  private ended(turn: DrivenTurn, made: Parameters<typeof Performer.outcomeOf>[3], command: Call): void {
    if (turn.call !== made.call || turn.cut !== undefined) return
    const outcome = Performer.outcomeOf(turn.ports, turn.engine.state.ledger, command, made)
    if (Effect.isEffect(outcome)) return this.run(turn, command, outcome)
    turn.call = undefined
    this.feed(turn, { _tag: "Done", record: Records.recordOf("Attempt", command, outcome) })
  }

  /** Performs a command, in a fiber unless it has its outcome already, as most answers of a router have. */
  private run(turn: DrivenTurn, command: Engine.Command, effect: Performed): void {
    if (isOver(effect)) return this.done(turn, command, effect)
    let outcome: Outcome = Exit.interrupt()
    const fiber = this.fork(Effect.map(Effect.exit(effect), (exit) => void (outcome = exit)))
    if (fiber.pollUnsafe() !== undefined) return this.done(turn, command, outcome)
    turn.performing.add(fiber)
    const done = (): void => {
      turn.performing.delete(fiber)
      this.done(turn, command, outcome)
    }
    fiber.addObserver(() => this.soon(turn, done))
  }

  private done(turn: DrivenTurn, command: Engine.Command, outcome: Outcome): void {
    if (turn.cut !== undefined) return this.cutWhenQuiet(turn)
    if (Exit.isSuccess(outcome)) {
      if (command._tag === "Call") turn.call = undefined
      const record = Records.recordOf(Engine.kindOf(command), command, outcome.value)
      return this.feed(turn, { _tag: "Done", record })
    }
    const error = Cause.findErrorOption(outcome.cause)
    if (Option.isSome(error)) return this.feed(turn, { _tag: "Refused", error: error.value })
    this.cutOff(turn, { status: "failed", failure: Engine.bug(Cause.squash(outcome.cause)) })
  }

  /** Ends what the turn does, and seals it then. */
  private cutOff(turn: DrivenTurn, cut: Engine.Cut): void {
    if (turn.cut !== undefined) return
    turn.cut = cut
    Waits.cutOff(turn)
    turn.call?.cancel()
    for (const fiber of turn.performing) fiber.interruptUnsafe()
    this.cutWhenQuiet(turn)
  }

  private cutWhenQuiet(turn: DrivenTurn): void {
    const { call, cut, performing } = turn
    if (performing.size > 0 || cut === undefined) return
    turn.call = undefined
    const said = call && Performer.underWayOf(call.content)
    this.feed(turn, { _tag: "Cut", ...cut, ...defined({ said }) })
  }

  // --- writing

  /** Acts for a turn whose write has its outcome, if the turn is still here. */
  decided(turn: DrivenTurn, act: () => void): void {
    this.during(turn, act, () => {
      turn.writing?.over()
      turn.writing?.done()
    })
  }

  /** A draft writes nothing, and is left to be accepted when its first failure is one to wait for. */
  private drafted(turn: DrivenTurn, draft: Draft, { records }: Engine.Append): void {
    draft.records.push(...records)
    if (!records.some(({ record }) => record.kind === "Decision" && isOfWait(record.value)))
      return this.feed(turn, { _tag: "Appended" })
    this.parked(turn, undefined)
    draft.failed()
  }

  /** What a turn had to write is on disk. */
  written(turn: DrivenTurn, { events, records }: TurnLog.Append, stored: ReadonlyArray<StoredEvent>): void {
    const { life, session } = turn
    session.hub.persisted(stored)
    turn.seq += records.length
    for (const warning of events.flatMap(Warnings.of)) this.fork(Effect.logWarning(`Turn ${life.turnId}: ${warning}`))
    for (const named of records) InterruptedTurns.recorded(life, named)
    for (const { record } of records) if (record.kind === "Wake") Waits.recorded(life, record.value)
    this.feed(turn, { _tag: "Appended" })
  }

  refused(turn: DrivenTurn, error: JournalConflict | TurnStopped.TurnStopped): void {
    const stop = error._tag === "TurnStopped" ? error : new TurnStopped.TurnStopped({ message: error.message })
    this.feed(turn, { _tag: "Refused", error: stop })
  }

  // --- leaving

  private isHere(turn: DrivenTurn): boolean {
    return this.turns.get(turn.session) === turn
  }

  /** The turn leaves memory; without a wait it is still parked, and was in memory ahead of its time. */
  parked(turn: DrivenTurn, wait: Driven.Leaving | undefined): void {
    this.leave(turn)
    this.exits.parked(turn.session, turn.life, wait)
  }

  private stopped(turn: DrivenTurn, error: TurnStopped.TurnStopped): void {
    if (this.leave(turn)) this.exits.stopped(turn.session, turn.life, error)
  }

  /** Ends what the turn does; returns whether it was here. */
  private leave(turn: DrivenTurn): boolean {
    if (!this.isHere(turn)) return false
    const { call, engine, performing, life, session, sleep } = turn
    this.turns.delete(session)
    life.onAbort = undefined
    sleep?.stop()
    call?.cancel()
    for (const fiber of performing) fiber.interruptUnsafe()
    engine.effects.length = 0
    if (call === undefined) return true
    engine.take({ _tag: "Released" }, this.world.now())
    for (const effect of engine.effects.splice(0))
      if (effect._tag === "Observe") Observer.notify(turn.observer, effect.kind, effect.observation)
    return true
  }
}

// --- internal

type Performed = Effect.Effect<Records.TurnRecord["value"], TurnStopped.TurnStopped>

/** What became of a command. */
type Outcome = Exit.Exit<Records.TurnRecord["value"], TurnStopped.TurnStopped>

const isOver = (effect: Performed): effect is Outcome => Exit.isExit(effect)
const nothing = (): void => {}

/** Whether a first failure is waited for, or would be but for a limit of waiting. */
const isOfWait = (decision: Records.Directive): boolean => {
  if (decision._tag === "Retry") return true
  const basis = Basis.of(decision.basis)
  return basis?._tag === "Refused" && (basis.because === "budget" || basis.because === "max-delay")
}
