/**
 * Drives turns in groups until content arrives: no fibers, one commit for the records and events of many turns.
 *
 * ```
 *   take ──▶ inbox ── a pass: call, decide ──▶ writes of the pass, in one append ──▶ parked, sealed
 *              ▲ ▲               │                                  │
 *              │ └─ call failed ─┘                                  └──▶ `handOver`: to a fiber
 *              └─ resumed: time has come ── stands by (read ahead of its time)
 * ```
 *
 * The kernel (`BeforeContent`) decides the next action of a turn. The driver makes its calls, writes its records and events, and parks
 * it. Everything else goes to a fiber, with the work done until then (`Handover`).
 *
 * Driver.D1. Nothing is emitted, called or parked before the records that lead there are on disk (`Engine.E1`).
 * Driver.D2. A turn is here or in a fiber. It leaves once.
 * Driver.D3. A pass yields after `AT_ONCE` turns: others stream meanwhile.
 * Driver.D4. A defect in here is a defect of the turn, and is counted like a defect in its fiber (rule C10).
 */
import { type Journal as Port, JournalConflict } from "@holdfast/journal"
import { Records, type TurnStopped } from "@holdfast/kernel"
import { type BeforeContent, Monotonic, ProviderCall } from "@holdfast/kernel/host"
import type { TurnEvent } from "@holdfast/wire"
import { Array as Arr, Cause, Effect, Exit, type Fiber, MutableList, Option, Schema } from "effect"
import type { GateWait } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import type { Session } from "../session/Session.ts"
import * as TurnLife from "../session/TurnLife.ts"
import type { Events } from "../storage/EventJournal.ts"
import type { StoredEvent } from "../storage/Store.ts"
import * as TurnRunner from "../turn/TurnRunner.ts"
import * as Warnings from "../turn/Warnings.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import type * as DrivenTurn from "./DrivenTurn.ts"
import * as Entrance from "./Entrance.ts"
import * as Handover from "../turn/Handover.ts"

/** Turns processed between two turns of the event loop: some milliseconds of the thread. */
const AT_ONCE = 64

/** Where turns go from here. */
interface Exits {
  /** To a fiber, with the work done here; with `undefined`, the turn starts as if it had never been here. */
  readonly handOver: (session: Session, turn: TurnLife.TurnLife, handover: Handover.Handover | undefined) => void
  /** The turn leaves memory for the time of its wait. */
  readonly parked: (
    session: Session,
    turn: TurnLife.TurnLife,
    /** Absent: the turn is still parked, and was in memory ahead of its time. */
    wait: { readonly retryAt: number; readonly awaited: GateWait | undefined } | undefined
  ) => void
  /** The turn is sealed. */
  readonly sealed: (session: Session, turn: TurnLife.TurnLife, end: TurnEvent.TurnEnd) => void
  /** The turn stops, with the process or by a defect. */
  readonly stopped: (session: Session, turn: TurnLife.TurnLife, error: TurnStopped.TurnStopped) => void
}

/** The turns that are driven without a fiber. */
export interface Driver {
  /** Takes a turn that is about to run, if the driver can run it. */
  readonly take: (session: Session, turn: TurnLife.TurnLife) => boolean
  /** Releases the turn of a session, or all turns for good, because the process shuts down. */
  readonly stop: (why: TurnStopped.TurnStopped, of?: Session) => void
}

/** A driver whose passes run by `fork`. */
export const make = (
  services: TurnServices,
  exits: Exits,
  fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
): Driver => new GroupDriver(services, exits, fork)

// --- internal

type DriverEvent =
  | ({ readonly _tag: "Taken" } & Entrance.Found)
  /** The turn stands by, and is to continue. */
  | { readonly _tag: "Resumed"; readonly turn: DrivenTurn.DrivenTurn }
  | {
      readonly _tag: "Begun"
      readonly turn: DrivenTurn.DrivenTurn
      readonly call: Handover.BegunCall
      readonly beginning: Handover.Beginning
    }
  /** The router has answered. */
  | {
      readonly _tag: "Routed"
      readonly turn: DrivenTurn.DrivenTurn
      readonly outcome: Exit.Exit<Records.TurnRecord, TurnStopped.TurnStopped>
    }
  | { readonly _tag: "Aborted"; readonly turn: DrivenTurn.DrivenTurn }

/** Records and events of a turn to be written. */
interface Write {
  readonly turn: DrivenTurn.DrivenTurn
  readonly what: BeforeContent.Append
  readonly append: Port.AppendWith<Events>
}

type Next<Tag extends BeforeContent.Next["_tag"]> = Extract<BeforeContent.Next, { readonly _tag: Tag }>
type Outcome = Exit.Exit<ReadonlyArray<StoredEvent> | undefined, Port.AppendError>

class GroupDriver implements Driver {
  private readonly services: TurnServices
  private readonly exits: Exits
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private readonly world: ProviderCall.World
  private readonly inbox = MutableList.make<DriverEvent>()
  private readonly turns = new Set<DrivenTurn.DrivenTurn>()
  private readonly entrance: Entrance.Entrance
  private isRunning = false
  private isOver = false

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
    this.entrance = new Entrance.Entrance(
      services,
      {
        found: (found) => this.enqueue({ _tag: "Taken", ...found }),
        elsewhere: ({ session, turn }, handover) => exits.handOver(session, turn, handover)
      },
      fork
    )
  }

  take(session: Session, turn: TurnLife.TurnLife): boolean {
    return !this.isOver && this.entrance.take({ session, turn })
  }

  stop(why: TurnStopped.TurnStopped, of?: Session): void {
    if (of === undefined) {
      this.isOver = true
      MutableList.clear(this.inbox)
    }
    const at = this.world.now()
    for (const turn of this.turns) {
      const { asking, call, life, session, value } = turn
      if (of !== undefined && session !== of) continue
      this.leave(turn)
      call?.cancel()
      asking?.()
      value.interrupted(at)
      this.exits.stopped(session, life, why)
    }
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
      const writes: Array<Write> = []
      for (const what of MutableList.takeN(this.inbox, AT_ONCE)) this.process(what, writes)
      if (writes.length > 0) this.fork(this.written(writes))
      yield* Effect.yieldNow
    }
    this.isRunning = false
  })

  private process(what: DriverEvent, writes: Array<Write>): void {
    const turn = what._tag === "Taken" ? this.enter(what) : what.turn
    if (turn === undefined) return
    if (!this.turns.has(turn)) return what._tag === "Begun" ? what.call.cancel() : undefined // Driver.D2
    this.guarded(turn, () => {
      switch (what._tag) {
        case "Taken":
          return this.goOn(turn, writes)
        case "Begun":
          return this.begun(turn, what.call, what.beginning, writes)
        case "Routed":
          return this.routed(turn, what.outcome, writes)
        case "Resumed":
          return this.resumed(turn, writes)
        case "Aborted":
          if (turn.isStandingBy) return this.handOver(turn)
          if (turn.asking !== undefined) return this.abandoned(turn, turn.asking)
          // While its records are written, the abort takes effect after them.
          return turn.call && this.handOver(turn, Handover.pending(turn.call.cancel))
        default:
          return what satisfies never
      }
    })
  }

  /** Driver.D4 */
  private guarded(turn: DrivenTurn.DrivenTurn, act: () => void): void {
    try {
      act()
    } catch (defect) {
      const { call } = turn
      const outcome = Exit.die(defect)
      turn.call = undefined
      call?.cancel()
      if (this.leave(turn)) this.give(turn, undefined, { append: appendOf(turn, []), outcome })
    }
  }

  private enter(found: Entrance.Found): DrivenTurn.DrivenTurn | undefined {
    const { session, turn: life } = found.fresh
    // It was given up while it was read.
    if (!this.services.ownership.isOurs(session.conversationId)) {
      this.exits.handOver(session, life, undefined)
      return undefined
    }
    const turn = this.entrance.enter(found)
    if (turn !== undefined) this.turns.add(turn)
    return turn
  }

  private goOn(turn: DrivenTurn.DrivenTurn, writes: Array<Write>): void {
    const next = turn.value.next(this.world.now())
    // An abort comes too late for a turn whose seal is on disk.
    this.follow(turn, turn.life.isCalled && next?._tag !== "Sealed" ? undefined : next, writes)
  }

  /** Does what is next, or hands the turn over. */
  private follow(turn: DrivenTurn.DrivenTurn, next: BeforeContent.Next | undefined, writes: Array<Write>): void {
    switch (next?._tag) {
      case "Append":
        turn.value.begin()
        return this.write(turn, next, writes)
      case "Call":
        return this.call(turn, next, writes)
      case "Ask":
        return this.ask(turn, next)
      case "Wait":
        return this.wait(turn, next, writes)
      case "Sealed":
        turn.value.begin()
        return this.leave(turn) ? this.exits.sealed(turn.session, turn.life, next.end) : undefined
      case undefined:
        return this.handOver(turn)
      default:
        return next satisfies never
    }
  }

  private call(turn: DrivenTurn.DrivenTurn, { request }: Next<"Call">, writes: Array<Write>): void {
    const { life, setting, value } = turn
    life.begins(false)
    value.begin()
    const call = new Handover.BegunCall((beginning) => this.enqueue({ _tag: "Begun", turn, call, beginning }))
    turn.call = call
    const beginning = call.begin((listener) => ProviderCall.of(setting.provider)(request, this.world, listener))
    if (beginning !== undefined) return this.begun(turn, call, beginning, writes)
    life.onAbort = () => this.enqueue({ _tag: "Aborted", turn })
  }

  private begun(
    turn: DrivenTurn.DrivenTurn,
    call: Handover.BegunCall,
    beginning: Handover.Beginning,
    writes: Array<Write>
  ): void {
    const { life, value } = turn
    turn.call = undefined
    const next = life.isCalled || beginning === "answered" ? undefined : value.failed(beginning, this.world.now())
    if (next === undefined) return this.handOver(turn, call)
    call.cancel()
    life.onAbort = undefined
    this.follow(turn, next, writes)
  }

  /** Asks the router. Its answer is written with what led to it. */
  private ask(turn: DrivenTurn.DrivenTurn, { ask }: Next<"Ask">): void {
    const { life, router, value } = turn
    if (router === undefined) return this.handOver(turn)
    const { now, run } = this.world
    value.begin()
    life.onAbort = () => this.enqueue({ _tag: "Aborted", turn })
    let cancel = () => {}
    turn.asking = () => cancel() // first: the answer may be there, and processed, before `run` returns
    cancel = run(ask(router, now), (outcome) => this.enqueue({ _tag: "Routed", turn, outcome }))
  }

  /** An abort ends the question. */
  private abandoned(turn: DrivenTurn.DrivenTurn, cancel: () => void): void {
    turn.asking = undefined
    cancel()
    this.handOver(turn)
  }

  private routed(
    turn: DrivenTurn.DrivenTurn,
    outcome: Extract<DriverEvent, { readonly _tag: "Routed" }>["outcome"],
    writes: Array<Write>
  ): void {
    if (turn.asking === undefined) return // the answer was under way when an abort came
    turn.asking = undefined
    turn.life.onAbort = undefined
    const error = Exit.findErrorOption(outcome)
    if (Option.isSome(error)) {
      if (this.leave(turn)) this.exits.stopped(turn.session, turn.life, error.value)
      return
    }
    if (!Exit.isSuccess(outcome)) throw Cause.squash(outcome.cause)
    this.follow(turn, turn.value.answered(outcome.value, this.world.now()), writes)
  }

  private write(turn: DrivenTurn.DrivenTurn, what: BeforeContent.Append, writes: Array<Write>): void {
    const { events, position, records } = what
    const { conversationId } = turn.resumption.turn
    const statements = Arr.isReadonlyArrayNonEmpty(events) ? { conversationId, events, position } : undefined
    writes.push({ turn, what, append: { ...appendOf(turn, records), statements } })
  }

  // --- writing

  private written(writes: ReadonlyArray<Write>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const outcomes = yield* this.services.journal.appendAll(writes.map(({ append }) => append))
      const after: Array<Write> = []
      for (const [i, write] of writes.entries()) {
        this.recorded(write, outcomes[i] ?? Exit.die(new Error("an append has no outcome")), after)
      }
      if (after.length > 0) yield* this.written(after)
    })
  }

  private recorded({ append, turn, what: { events, records } }: Write, outcome: Outcome, after: Array<Write>): void {
    if (!this.turns.has(turn)) return
    const { life, session } = turn
    this.guarded(turn, () => {
      if (!Exit.isSuccess(outcome)) return this.handOver(turn, undefined, { append, outcome })
      if (!TurnRunner.published(session.hub, events, outcome.value)) {
        const elsewhere = Exit.fail(new JournalConflict({ turnId: life.turnId }))
        return this.handOver(turn, undefined, { append, outcome: elsewhere })
      }
      turn.known = [...turn.known, ...append.records]
      if (events.length > 0) this.persisted(turn, events)
      for (const { record } of records) {
        if (record.kind !== "Wake") continue
        life.wait.recordedEnd(record.value)
        life.move(TurnLife.without("place"))
        if (record.value.type === "asked") life.move(TurnLife.without("ticket")) // it calls when a person has answered
      }
      this.goOn(turn, after)
    })
  }

  private persisted(turn: DrivenTurn.DrivenTurn, events: BeforeContent.Append["events"]): void {
    const { persisted } = turn.resumption
    turn.resumption = { ...turn.resumption, persisted: [...persisted, ...events.map(({ type }) => type)] }
    if (events.some((event) => Warnings.of(event).length > 0)) this.fork(Warnings.log(turn.life.turnId, events))
  }

  private wait(turn: DrivenTurn.DrivenTurn, next: Next<"Wait">, writes: Array<Write>): void {
    const { life, session, value } = turn
    const now = this.world.now()
    const retryAt = Math.min(next.retryAt, now + next.delayMs) // TurnRunner.R2
    const isLong = retryAt - now > TurnRunner.RESIDENT_MS
    if (!isLong && !life.standsBy && !life.wait.hasNews) return this.handOver(turn)
    life.begins(true)
    value.begin()
    if (life.standsBy) return this.standBy(turn)
    const awaited = Gates.waitOf(this.services.gates, life.turnId, next.awaited)
    life.move(TurnLife.waitAt(awaited))
    if (life.wait.hasNews) return this.elapsed(turn, writes)
    if (this.leave(turn)) this.exits.parked(session, life, { retryAt, awaited })
  }

  /** A turn that was read ahead of its time stands by until it is resumed, as in `TurnRunner`. */
  private standBy(turn: DrivenTurn.DrivenTurn): void {
    const { life } = turn
    turn.isStandingBy = true
    life.onAbort = () => this.enqueue({ _tag: "Aborted", turn })
    life.wait.standByThen(() => this.enqueue({ _tag: "Resumed", turn }))
  }

  private resumed(turn: DrivenTurn.DrivenTurn, writes: Array<Write>): void {
    const { life, session } = turn
    turn.isStandingBy = false
    if (life.isCalled) return this.handOver(turn)
    life.onAbort = undefined
    life.move(TurnLife.goOn)
    if (life.wait.hasNews) return this.elapsed(turn, writes)
    if (this.leave(turn)) this.exits.parked(session, life, undefined)
  }

  /** The time of a wait has come. */
  private elapsed(turn: DrivenTurn.DrivenTurn, writes: Array<Write>): void {
    const { life, session, value } = turn
    if (life.isCalled) return this.handOver(turn)
    life.wait.elapsed(() => session.hub.inProgress.resume())
    const { heldMs = 0 } = life.state.ticket ?? {}
    this.follow(turn, value.elapsed(heldMs === 0 ? undefined : heldMs, this.world.now()), writes)
  }

  // --- leaving

  private leave(turn: DrivenTurn.DrivenTurn): boolean {
    turn.life.onAbort = undefined
    return this.turns.delete(turn)
  }

  private handOver(turn: DrivenTurn.DrivenTurn, call?: Handover.Call, left?: Handover.Left): void {
    if (!this.leave(turn)) return call?.cancel()
    this.give(turn, call, left)
  }

  private give(turn: DrivenTurn.DrivenTurn, call?: Handover.Call, refused?: Handover.Left): void {
    const { life, resumption, session, value } = turn
    const { priorWork, unwritten } = value
    const left = refused ?? (unwritten.length > 0 ? { append: appendOf(turn, unwritten) } : undefined)
    const known = left === undefined ? turn.known : [...turn.known, ...left.append.records]
    this.exits.handOver(session, life, { isEntered: true, resumption, known, priorWork, call, left })
  }
}

const appendOf = ({ known, life: { turnId } }: DrivenTurn.DrivenTurn, records: BeforeContent.Append["records"]) => ({
  turnId,
  seq: known.length,
  records: records.map(storedOf)
})

/** A record as `JournalCheckpoint` encodes it, but synchronously. */
const storedOf = ({ name, record: { value } }: BeforeContent.Append["records"][number]): Records.Stored => ({
  name,
  // JSON has no number for a wait without end.
  value: JSON.stringify(
    typeof value === "object" && "_tag" in value && value._tag === "Retry" && !Number.isFinite(value.retryAt)
      ? encodedDirective(value)
      : value
  )
})

const encodedDirective = Schema.encodeSync(Schema.toCodecJson(Records.Directive))
