/**
 * Performs the machine of a turn: one input in, the effects to perform out (`step`). Pure and synchronous.
 *
 * A shell keeps the state of a turn, performs its effects in their order, and passes in what came of them.
 *
 * Engine.E1. Nothing leaves before the records that lead there are on disk: what follows an append is withheld until `Appended`. One append
 *     is open at most. A call may be made before its route is on disk, but its content waits for it.
 * Engine.E2. A cut takes effect when the turn has followed its records, and no append is open. Records of commands that it has ended are
 *     dropped.
 * Engine.E3. A defect in here seals the turn as failed (C10); one in its seal stops it.
 */
import { defined, type Failure, type TurnEvent } from "@holdfast/wire"
import { evolve } from "../internal/machine/Evolve.ts"
import type { Emission, Ledger } from "../internal/machine/Ledger.ts"
import { type Command, commandsOf, type Offers, sealing } from "../internal/machine/OpenCommands.ts"
import { fits } from "../ports/RetryStrategy.ts"
import { ofDefect, TurnStopped } from "../ports/TurnStopped.ts"
import * as Records from "../records/Records.ts"
import * as RetryEvent from "../turn/RetryEvent.ts"
import * as Commands from "./Commands.ts"
import * as Observing from "./Observing.ts"
import type { Append, Cut, Effect, Input, Named, CutContent, State } from "./State.ts"

export type { Command } from "../internal/machine/OpenCommands.ts"
export { kindOf } from "./Commands.ts"
export { make } from "./State.ts"
export type { Append, Cut, Effect, Input, Named, Setup, Sleep, State } from "./State.ts"

/**
 * Takes an input at a moment, in epoch milliseconds. Without effects there is nothing to do until the next input.
 *
 * ```
 *   Begin, Done, Due, Steered, Cut ──▶ fold ──▶ records and events ──▶ Append ── Appended ──▶ Live, Start, Sleep, Sealed
 *                                       ▲  │ commands without a wait                                  │
 *                                       └──┘                                                          │
 *   Call under way: FirstContent ──▶ Append of its mark ── Appended ──▶ Release                       │
 *        ▲                                                                                            │
 *        └────────────────────────────────────────────────────────────────────────────────────────────┘
 * ```
 */
export const step = (state: State, input: Input, now: number): readonly [State, ReadonlyArray<Effect>] => {
  const turn = new Turn({ ...state })
  turn.take(input, now)
  return [turn.state, turn.effects]
}

/** The same in place, for shells that keep no state but the last. */
export class Turn {
  readonly state: State
  /** What is to be performed, in order; the shell removes it. */
  readonly effects: Array<Effect> = []
  private readonly draft: { -readonly [Key in keyof State]: State[Key] }
  private now = 0

  /** Changes `state` from now on. */
  constructor(state: State) {
    this.state = state
    this.draft = state
  }

  /** Takes an input at a moment, in epoch milliseconds. Absent: that of the input before, for `Begin`, `Appended` and `Done` in `memo`. */
  take(input: Input, now = this.now): void {
    this.now = now
    try {
      this.step(input)
    } catch (defect) {
      this.fail(defect)
    }
  }

  // --- inputs

  private step(input: Input): void {
    const { draft, state } = this
    if (state.stopped !== undefined) return this.stop(state.stopped)
    switch (input._tag) {
      case "Begin": {
        draft.known = input.known.slice()
        draft.persisted = input.persisted
        draft.cut = input.cut
        return this.goOn()
      }
      case "Appended":
        return this.appended()
      case "Refused":
        this.interrupted()
        return this.stop(input.error)
      case "Performs":
        return this.begins(input.command)
      case "Performed":
        return this.report(input.record, state.ledger)
      case "FirstContent":
        return this.firstContent()
      case "Done":
        return this.done(input.record, input.isTakenUp === true)
      case "Due":
        return this.woken({ type: "elapsed", ...defined({ heldMs: input.heldMs }) })
      case "Steered":
        return this.woken(input.wake)
      case "Cut":
        return this.cut(input, input.said)
      case "Released":
        return this.interrupted()
      default:
        return input satisfies never
    }
  }

  /** Engine.E3 */
  private fail(defect: unknown): void {
    // A turn that is ending already cannot be cut again.
    if (this.state.cut !== undefined || this.state.ledger.phase._tag === "Sealed") return this.stop(ofDefect(defect))
    try {
      this.cut({ status: "failed", failure: bug(defect) })
    } catch {
      this.stop(ofDefect(defect))
    }
  }

  private appended(): void {
    const { pending } = this.state
    if (pending === undefined) return
    this.draft.pending = undefined
    for (const effect of pending.then) this.effects.push(effect)
    this.goOn()
  }

  private firstContent(): void {
    const { call, records, setup } = this.state
    if (call === undefined) return
    this.draft.call = { ...call, firstContentAt: this.now }
    if (setup.memo !== undefined) return
    // The mark is not folded in: this life goes on with the attempt.
    const { attempt: number, step } = call.request
    this.draft.records = [...records, named({ kind: "Content", step, number, value: true })]
    this.append({ _tag: "Release" })
  }

  private done(record: Records.TurnRecord, isTakenUp: boolean): void {
    const { open } = this.state
    const command = open.find((command) => isOf(command, record))
    if (command === undefined) return // Engine.E2
    this.draft.open = open.filter((other) => other !== command)
    this.fold(record, isTakenUp)
    this.goOn()
  }

  private woken(wake: Records.Wake): void {
    const [waiting] = this.state.open
    if (waiting === undefined || !Commands.isWaiting(waiting)) return
    if (wake.type !== "elapsed" && !fits(wake, Commands.callsOf(waiting))) return
    const value = Commands.wakeOf(waiting, wake, this.state.setup.strategy?.ask, this.now)
    if (value === undefined) return this.sleep(waiting)
    this.draft.open = []
    const { number, part, step } = waiting
    this.fold({ kind: "Wake", step, number, value }, false, part)
    this.goOn()
  }

  private cut({ failure, status }: Cut, said: CutContent = { content: [] }): void {
    const { call, cut, ledger, open } = this.state
    const [command] = open
    if (cut !== undefined || ledger.phase._tag === "Sealed" || command?._tag === "Seal") return
    const called = call === undefined ? undefined : ({ called: true } as const)
    const underWay = command?._tag === "Call" ? { said, ...called } : undefined
    this.interrupted()
    this.draft.cut = { status, failure, ...underWay }
    this.goOn()
  }

  /** The commands under way have been ended. */
  private interrupted(): void {
    const { call, ledger, setup } = this.state
    this.draft.open = []
    this.draft.call = undefined
    if (call === undefined || call.isObserved || setup.observer?.attempt === undefined) return
    const outcome = { _tag: "Interrupted", endedAt: this.now } as const
    this.observe(Observing.ofAttempt(ledger, call.request.attempt, outcome, call))
  }

  private stop(error: TurnStopped): void {
    this.draft.stopped = error
    this.effects.push({ _tag: "Stop", error })
  }

  // --- the way on

  /** Goes on until something has to come from outside. */
  private goOn(): void {
    let isMoving = this.state.pending === undefined
    while (isMoving && this.state.stopped === undefined) isMoving = this.advance()
  }

  /** Returns whether there may be more to do. */
  private advance(): boolean {
    const { events, followed, known, ledger, open, setup } = this.state
    const next = known[followed]
    const isRestored = next === undefined
    const [due, ...outbox] = ledger.outbox
    if (due?._tag === "Persist") {
      this.draft.ledger = { ...ledger, outbox }
      return this.gather(due)
    }
    if (due !== undefined) {
      // A transient event of an earlier life has no one to receive it.
      if (isRestored && this.hasUnwritten) return this.append()
      this.draft.ledger = { ...ledger, outbox }
      const announced = { step: ledger.step.number, event: due.event }
      if (!isRestored || RetryEvent.isAnnounced(this.draft.wait, announced)) return true
      this.draft.wait = announced
      this.live(due.event)
      return true
    }
    // An engine that returns results one by one persists the events in the groups of their records.
    if (next !== undefined) return setup.memo !== undefined && events.length > 0 ? this.append() : this.follow(next)
    if (open.length > 0) return this.hasUnwritten && this.append()
    if (ledger.phase._tag !== "Sealed") return this.perform()
    if (this.hasUnwritten) return this.append()
    const { end } = ledger.phase
    if (setup.observer?.seal !== undefined) this.observe(Observing.ofSeal(ledger, end))
    this.effects.push({ _tag: "Sealed", end })
    return false
  }

  /** Folds in the next record of an earlier life. */
  private follow(stored: Records.Stored): boolean {
    this.draft.followed = this.state.followed + 1
    const record = Records.parse(stored)
    try {
      if (record !== undefined) this.fold(record, true)
      else if (Records.positionOf(stored.name) !== undefined)
        throw new Error(`the record ${stored.name} cannot be read`)
    } catch (error) {
      // A journal that contradicts itself is a defect of the host, which counts it (C10).
      const why = error instanceof Error ? error.message : String(error)
      this.stop(new TurnStopped({ message: `The journal cannot be followed: ${why}.`, defect: true }))
    }
    return true
  }

  /** Adds events to the next append, without those that are on disk. */
  private gather({ events, position }: Extract<Emission, { readonly _tag: "Persist" }>): boolean {
    const { ledger, persisted, setup } = this.state
    const onDisk = setup.memo === undefined ? events.slice(0, Math.max(0, persisted.length - position)) : []
    if (onDisk.some(({ type }, i) => type !== persisted[position + i])) {
      const message = `Turn ${ledger.turn.turnId} diverged from its journal; what is on disk was left as it is.`
      this.stop(new TurnStopped({ message, defect: true }))
    } else if (onDisk.length > 0) {
      this.effects.push({ _tag: "Repeat", events: onDisk, position })
    }
    this.draft.events = [...this.state.events, ...events.slice(onDisk.length)]
    return true
  }

  /** Performs the open commands whose record follows from the turn, or begins the others. */
  private perform(): boolean {
    const { cut, ledger, setup } = this.state
    if (cut?.failure.defect === true) return this.seal(cut)
    const { found } = this.state
    const commands = found?.ledger === ledger ? found.commands : commandsOf(ledger, this.offers)
    this.draft.found = { ledger, commands }
    const [command] = commands
    if (cut !== undefined) return this.seal(command?._tag === "Call" ? { said: { content: [] }, ...cut } : cut)
    if (command?._tag === "Seal") return this.seal(command.cut && { status: "failed", failure: command.cut })
    if (setup.memo === undefined && this.performed(commands)) return true
    if (this.hasUnwritten && !commands.every((command) => this.isKept(command))) return this.append()
    this.draft.open = commands
    if (command?._tag === "RunTool") this.draft.toolsAt = new Map()
    for (const command of commands) this.begin(command)
    return false
  }

  /**
   * Performs commands whose record follows from the turn: a decision by the strategy alone, the last step, a seal. So they are one append
   * with the record before them: a failure and its decision, an answer and its seal. Returns whether there were any.
   */
  private performed(commands: ReadonlyArray<Command>): boolean {
    const { ledger, setup } = this.state
    const beginnings = commands.flatMap((command) => Commands.beginningOf(setup, ledger, command) ?? [])
    for (const record of beginnings) this.fold(record)
    const [command] = commands
    const record = command && Commands.recordOf(setup, ledger, command, this.now)
    if (record === undefined) return false
    this.fold(record) // a question is the first of its response
    return true
  }

  private begin(command: Command): void {
    const isMemo = this.state.setup.memo !== undefined
    if (!isMemo) this.begins(command)
    if (!isMemo && Commands.isWaiting(command)) this.sleep(command)
    else this.effects.push({ _tag: "Start", command })
  }

  /**
   * Whether a call may be made while its route is not on disk, and a router asked while the failure is not: the attempt has shown nothing,
   * and may be lost and made again. Its first content waits for the append of its mark, which has the route too.
   */
  private isKept({ _tag }: Command): boolean {
    const { events, records } = this.state
    if ((_tag !== "Call" && _tag !== "Decide") || events.length > 0) return false
    return records.every(({ record }) => record.kind === "Route" || (_tag === "Decide" && hasShownNothing(record)))
  }

  private seal(cut: Records.Seal["cut"]): boolean {
    const { ledger, setup } = this.state
    const command = sealing(ledger, cut?.failure)
    if (setup.memo === undefined) {
      this.fold(Records.recordOf("Seal", command, { at: this.now, ...defined({ cut }) }))
      return true
    }
    this.draft.cut = cut
    this.draft.open = [command]
    this.effects.push({ _tag: "Start", command })
    return false
  }

  // --- parts

  /** Announces a command that is about to be performed, and keeps its time. */
  private begins(command: Command): void {
    const { draft } = this
    const { announced, calledAt, isTakenUp, toolsAt, wait } = draft
    if (command._tag === "Call") {
      const startedAt = calledAt ?? this.now
      draft.call = { request: command.request, startedAt, firstContentAt: undefined, isObserved: false }
      draft.calledAt = startedAt
      draft.announced = command.step
      if (announced !== command.step) this.live(command.begins)
    } else if (command._tag === "Compact") {
      draft.calledAt = this.now
    } else if (command._tag === "RunTool") {
      draft.toolsAt = new Map(toolsAt).set(command.number, this.now)
    } else if (Commands.isWaiting(command)) {
      const { event, step } = command
      if (RetryEvent.isAnnounced(wait, { event, step })) return
      // D5: a wait of an earlier life whose end has passed is not announced.
      if (isTakenUp && event.retryAt < this.now) return
      draft.wait = { event, step }
      this.live(event)
    }
  }

  private sleep(waiting: Commands.Waiting): void {
    this.effects.push({ _tag: "Sleep", ...Commands.sleepOf(waiting, this.now) })
  }

  /** Folds a record in; one of this life is reported, and is part of the next append. */
  private fold(record: Records.TurnRecord, isTakenUp = false, part?: number): void {
    const { ledger, records, setup } = this.state
    const after = evolve(ledger, record)
    if (!isTakenUp && setup.memo === undefined) this.report(record, ledger)
    const { draft } = this
    draft.ledger = after
    draft.isTakenUp = isTakenUp
    if (record.kind === "Attempt") draft.call = undefined
    if (isTakenUp) return // what this life has announced and begun came after the records of earlier ones
    const isDue = after.phase._tag === "Deciding" || after.phase._tag === "Compacting"
    if (!isDue) draft.calledAt = undefined
    if (isVoid(record)) draft.announced = undefined
    if (setup.memo === undefined && record.kind !== "Seal") draft.records = [...records, named(record, part)]
  }

  private report(record: Records.TurnRecord, before: Ledger): void {
    const { call, calledAt, open, setup, toolsAt } = this.state
    if (setup.observer === undefined) return
    if (call !== undefined) this.draft.call = { ...call, isObserved: true }
    const startedAt = record.kind === "Tool" ? toolsAt.get(record.number) : calledAt
    if (record.kind === "Tool") this.draft.toolsAt = new Map(toolsAt).set(record.number, undefined)
    const isRunning = ({ number }: Command) =>
      number !== record.number && !(toolsAt.has(number) && toolsAt.get(number) === undefined)
    const times = {
      startedAt,
      othersRunning: open.filter(isRunning).length,
      ...(record.kind === "Attempt" ? call : undefined)
    }
    const observed = Observing.ofRecord(setup.observer, before, record, times, this.now)
    if (observed !== undefined) this.observe(observed)
  }

  /** `then` follows it, besides the observation of its events. */
  private append(...then: ReadonlyArray<Effect>): boolean {
    const { events, ledger, records, setup } = this.state
    const left = ledger.outbox.reduce((sum, due) => (due._tag === "Persist" ? sum + due.events.length : sum), 0)
    const position = ledger.position - left - events.length
    const isFresh = (_: unknown, i: number) => setup.memo?.isPersisted?.(position + i) !== true
    const fresh = setup.observer?.event === undefined ? [] : events.filter(isFresh)
    const observed = fresh.map((event) => ({ _tag: "Observe" as const, ...Observing.ofEvent(ledger, event) }))
    const append: Append = { _tag: "Append", records, events, position }
    const { draft } = this
    draft.pending = { ...append, then: [...observed, ...then] }
    draft.records = []
    draft.events = []
    this.effects.push(append)
    return false
  }

  private live(event: TurnEvent.ProviderRetry | TurnEvent.StepStart): void {
    const { ledger, setup } = this.state
    this.effects.push({ _tag: "Live", event })
    if (setup.observer?.event !== undefined) this.observe(Observing.ofEvent(ledger, event))
  }

  private observe(observed: Observing.Observed): void {
    this.effects.push({ _tag: "Observe", ...observed })
  }

  private get hasUnwritten(): boolean {
    return this.state.records.length > 0 || this.state.events.length > 0
  }

  private get offers(): Offers {
    const { ledger, offered, setup } = this.state
    const step = ledger.step.number
    if (offered?.step === step) return offered.offers
    const { hasCompactor, hasRouter, strategy, toolbox } = setup
    const midStream = strategy?.midStream
    const hasStrategy = strategy !== undefined
    const offers = { tools: toolbox.definitions, hasRouter, hasStrategy, hasCompactor, ...defined({ midStream }) }
    this.draft.offered = { step, offers }
    return offers
  }
}

/** The failure of a turn that a defect of the kernel or of a port ends (C10). */
export const bug = (defect: unknown): Failure.Failure => ({
  reason: "unknown",
  message: ofDefect(defect).message,
  retryable: false,
  defect: true
})

// --- internal

const named = (record: Records.TurnRecord, part?: number): Named => ({
  name: Records.nameOf(record.kind, record.step, record.number, part),
  record
})

/** Whether a record makes the text of its step void: the step begins again (X2, X7). */
const isVoid = ({ kind, value }: Records.TurnRecord): boolean =>
  (kind === "Attempt" && value._tag === "Lost") || (kind === "Decision" && Records.isVoiding(value))

/** Whether an attempt has failed before any content (X2), and its response was none that was rejected (A9). */
const hasShownNothing = ({ kind, value }: Records.TurnRecord): boolean =>
  kind === "Attempt" && value._tag === "Failed" && !value.contentSeen && value.whole === undefined

/** Whether a command ends in a record. */
const isOf = (command: Command, { kind, number, step }: Records.TurnRecord): boolean =>
  Commands.kindOf(command) === kind && command.number === number && command.step === step
