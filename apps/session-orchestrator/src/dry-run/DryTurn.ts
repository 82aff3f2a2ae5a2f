/**
 * Runs one turn of a dry run: the kernel's machine decides what comes next, and the policy, the routing and the gate of the service answer.
 *
 * DryTurn.D1. It performs the commands of `Machine` as the interpreter does. Only calls, tools and the passing of time are simulated.
 * DryTurn.D2. A tool call succeeds at once, a context that is too long cannot be compacted, and no person sends a command.
 * DryTurn.D3. It is deterministic: the same surroundings give the same course.
 * DryTurn.D4. A wait of 0 ms takes 1 ms where the service's driver runs the turn: its timer never rings at once.
 * DryTurn.D5. Each turn is the only one of its conversation, and nothing was spent before the run.
 */
import { Machine, type Directive, type Records, type RetryStrategy } from "@holdfast/kernel"
import { RetryPolicy } from "@holdfast/policy"
import { defined, Failure, Ids, Target, type TurnEvent } from "@holdfast/wire"
import { type Call, type GateTicket, type Sleeper, wakeEarly } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import type { Permit } from "../gate/Limiter.ts"
import * as DecisionAccount from "../inspection/DecisionAccount.ts"
import type { SpendAccount } from "../spend/SpendAccount.ts"
import * as Admission from "../turn/Admission.ts"
import * as TurnPlan from "../turn/TurnPlan.ts"
import * as TurnRouter from "../turn/TurnRouter.ts"
import { RESIDENT_MS } from "../turn/TurnRunner.ts"
import * as DryDecisions from "./DryDecisions.ts"
import type { CommandOf } from "./DryDecisions.ts"
import type { CallMark, TurnCourse, TurnEnding, WaitMark } from "./TurnCourse.ts"
import type { VirtualClock } from "./VirtualClock.ts"

type Completed = Extract<Records.AttemptOutcome, { readonly _tag: "Completed" }>
type Failed = Extract<Records.AttemptOutcome, { readonly _tag: "Failed" }>

/** How a call goes. Times are in milliseconds after it began. */
export interface Reply {
  /** When its first content comes; absent: never, or at its end. */
  readonly contentAt?: number
  readonly endAt: number
  readonly outcome: Omit<Completed, "endedAt"> | Omit<Failed, "endedAt" | "spread">
}

/** A call that is made at `now`, in epoch milliseconds. */
export interface DryCall {
  readonly prompted: Prompted
  readonly request: CommandOf<"Call">["request"]
  readonly now: number
}

/** What all turns of a dry run share. */
export interface Surroundings extends DryDecisions.Shared {
  readonly clock: VirtualClock
  readonly gates: Gates.Gates["Service"]
  /** Makes a call; `undefined`: it never ends. */
  readonly reply: (call: DryCall) => Reply | undefined
  /** Counts an attempt that made no call. */
  readonly shared: () => void
  /** What the turns have spent, and the limits (`spend`). Absent: there are none. */
  readonly spend?: SpendAccount | undefined
  /** Draws a number from 0 (included) to 1 (excluded) for a failure. */
  readonly spread: () => number
}

/** The input of one turn. */
export interface Prompted {
  readonly turnId: string
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly target: Target.Target
  /** No client stays for the answer (X15); that decides the default of `midStream`. Absent: one does. */
  readonly isSubmitted?: boolean
}

/** One turn of a dry run. */
export class DryTurn {
  readonly prompted: Prompted
  /** Its records so far. */
  readonly records: Array<Records.TurnRecord> = []
  protected readonly around: Surroundings
  protected readonly decisions: DryDecisions.DryDecisions
  protected ledger: Machine.Ledger
  private readonly offers: Machine.Offers
  private ticket: GateTicket | undefined = undefined
  private decided: { readonly directive: Directive.Directive; readonly failure: Failure.Failure } | undefined
  private readonly calls: Array<CallMark> = []
  private readonly waits: Array<WaitMark> = []
  private end: TurnEnding | undefined = undefined
  private stopWaiting: (() => void) | undefined = undefined
  private readonly onEnd: Array<(endedAt: number) => void> = []

  constructor(prompted: Prompted, around: Surroundings) {
    const { credentials, policy } = around
    const midStream = policy.midStream ?? TurnPlan.defaultMidStream(prompted.isSubmitted === true)
    this.around = around
    this.prompted = prompted
    this.decisions = new DryDecisions.DryDecisions({ ...around, policy: { ...policy, midStream } })
    const hasRouter = TurnRouter.hasElsewhere(policy, credentials)
    this.offers = {
      tools: [],
      hasRouter,
      hasStrategy: true,
      hasCompactor: true,
      ...defined({ midStream: this.decisions.midStream })
    }
    const { maxFailedToolSteps, maxResponseCharacters, maxTurns } = policy
    around.spend?.enter(Ids.TurnId.make(prompted.turnId))
    around.spend?.enterConversation(Ids.TurnId.make(prompted.turnId), []) // DryTurn.D5
    this.ledger = Machine.start({
      conversationId: Ids.ConversationId.make(prompted.turnId),
      turnId: Ids.TurnId.make(prompted.turnId),
      target: prompted.target,
      history: [],
      prompt: "",
      startedAt: prompted.startedAt,
      limits: defined({ maxFailedToolSteps, maxResponseCharacters, maxTurns })
    })
  }

  /** Whether the tokens of answers are real ones. */
  protected get countsTokens(): boolean {
    return false
  }

  /** The course until now. */
  get course(): TurnCourse {
    const { calls, end, waits } = this
    const { startedAt, turnId } = this.prompted
    return { turnId, startedAt, calls, waits, ...defined({ end }) }
  }

  /** Lets the turn begin, at its time unless at another one. */
  begin(at = this.prompted.startedAt): void {
    this.around.clock.at(at, () => this.advance())
  }

  /** Calls a function at the end of the turn, with its time. */
  whenEnded(listener: (endedAt: number) => void): void {
    if (this.end === undefined) this.onEnd.push(listener)
    else listener(this.end.at)
  }

  /** Performs commands until one takes time. */
  private advance(): void {
    for (;;) {
      const { commands, ledger } = Machine.next(this.ledger, this.offers)
      this.ledger = ledger
      const [command] = commands
      const record = command && this.perform(command)
      if (record === undefined) return
      this.take(record)
    }
  }

  /** Folds in a record that has come, and continues. */
  protected resume(record: Records.TurnRecord): void {
    if (this.end !== undefined) return // it was cut off meanwhile
    this.take(record)
    this.advance()
  }

  private take(record: Records.TurnRecord): void {
    this.records.push(record)
    this.ledger = Machine.evolve(this.ledger, record)
    if (this.ledger.phase._tag === "Sealed") this.sealed(this.ledger.phase.end)
  }

  /** Performs a command; returns its record, or `undefined` when that comes later. */
  protected perform(command: Machine.Command): Records.TurnRecord | undefined {
    const { step, number } = command
    const now = this.around.clock.now()
    switch (command._tag) {
      case "Final":
        return { kind: "Final", step, number, value: { cause: command.cause, at: now } }
      case "Route":
        return { kind: "Route", step, number, value: this.decisions.begin(command, this.ledger.routing.route, now) }
      case "Call":
        return this.call(command)
      case "Decide":
        return this.decision(command, this.decisions.decide(command, now))
      case "Wait":
        return this.wait(command)
      case "Ask": // DryTurn.D2: its tools need no approval
        return { kind: "Wake", step, number, value: { type: "cancelled", at: now } }
      case "RunTool": // DryTurn.D2
        return { kind: "Tool", step, number, value: { output: "", isError: false, endedAt: now } }
      case "Compact": // DryTurn.D2
        return { kind: "Compaction", step, number, value: { _tag: "Nothing", endedAt: now } }
      case "Seal":
        return this.seal(command, now)
      default:
        return command satisfies never
    }
  }

  /** The record of a decision. */
  protected decision(
    { failedCall: { failure }, number, step }: CommandOf<"Decide">,
    directive: Directive.Directive
  ): Records.TurnRecord {
    this.decided = { directive, failure }
    return { kind: "Decision", step, number, value: directive }
  }

  /** The record of the turn's end. */
  protected seal({ cut }: CommandOf<"Seal">, at: number): Records.TurnRecord {
    return cut === undefined ? { kind: "Seal", step: 0, number: 0, value: { at } } : this.cut(at, "failed", cut)
  }

  /** Ends the turn by a cut, whatever it does. */
  protected cutOff(at: number, status: "failed" | "aborted", failure: Failure.Failure | undefined): void {
    this.resume(this.cut(at, status, failure))
  }

  /** The record of a cut. */
  protected cut(at: number, status: "failed" | "aborted", failure: Failure.Failure = ABORTED): Records.TurnRecord {
    return { kind: "Seal", step: 0, number: 0, value: { at, cut: { status, failure } } }
  }

  private sealed(end: TurnEvent.TurnEnd): void {
    const { endedAt, error, status } = end
    const { decided } = this
    this.around.spend?.sealed({ ...end, end, target: this.ledger.routing.route.target })
    this.dropTicket()
    this.stopWaiting?.()
    const account = decided && DecisionAccount.of(decided.directive, decided.failure)
    const because = account?.type === "gave-up" ? account.because : "no-answer"
    const reason = (account?.type === "gave-up" ? decided?.failure : error)?.reason
    this.end = { status, at: endedAt, ...(status === "failed" ? { because, ...defined({ reason }) } : {}) }
    for (const listener of this.onEnd.splice(0)) listener(endedAt)
  }

  // --- calls

  /** As `Admission.throughGates`: the gate admits the call or shares a failure, and then the limits of the provider admit it. */
  private call(command: CommandOf<"Call">): Records.TurnRecord | undefined {
    const { clock, gates, policy } = this.around
    const { request } = command
    const refusal = this.refusal(request)
    if (refusal !== undefined) return this.shares(command, refusal)
    const goesOn = (failure: Failure.Failure) =>
      request.attempt === 0 && RetryPolicy.delay(policy, 0, failure) !== undefined
    const gatekeeper = gates.of(request)
    const { shareFirst, shared, ticket } = Admission.admitted(gatekeeper, this.ticket, goesOn)
    this.dropTicket()
    if (shared !== undefined) return this.shares(command, shared)
    const limiter = gates.limiterOf(request.target.provider)
    if (limiter === undefined) return this.start(command, gatekeeper?.begin(request.turnId, ticket), undefined)
    limiter.request(limiter.countsTokens ? Admission.sizeOf(request) : 0, (permit) =>
      clock.at(clock.now(), () => {
        const shared = shareFirst()
        if (shared !== undefined) permit.release()
        const record =
          shared === undefined
            ? this.start(command, gatekeeper?.begin(request.turnId, ticket), permit)
            : this.shares(command, shared)
        if (record !== undefined) this.resume(record)
      })
    )
    return undefined
  }

  /** As `Spending.checked`: the first call of a step is refused at a limit. */
  private refusal({ attempt, turnId }: CommandOf<"Call">["request"]): Failure.Failure | undefined {
    const { clock, spend } = this.around
    if (attempt === 0) return spend?.refusal(turnId, clock.now())
    spend?.goesOn(turnId)
    return undefined
  }

  private shares(command: CommandOf<"Call">, failure: Failure.Failure): Records.TurnRecord {
    const now = this.around.clock.now()
    this.around.shared()
    return this.called(command, now, { _tag: "Failed", content: [], failure, contentSeen: false })
  }

  private start(
    command: CommandOf<"Call">,
    gate: Call | undefined,
    permit: Permit | undefined
  ): Records.TurnRecord | undefined {
    const { clock, reply } = this.around
    const now = clock.now()
    const answer = reply({ prompted: this.prompted, request: command.request, now })
    if (answer === undefined) return undefined
    const { contentAt, endAt, outcome } = answer
    const end = (): Records.TurnRecord => {
      if (outcome._tag === "Failed") gate?.failed(outcome.failure)
      else {
        gate?.answered()
        if (outcome.usage !== undefined) permit?.counted(outcome.usage)
        gate?.ended()
      }
      permit?.release()
      return this.called(command, now, outcome)
    }
    if (contentAt === 0) gate?.answered()
    else if (contentAt !== undefined) clock.at(now + contentAt, () => gate?.answered())
    if (endAt === 0) return end()
    clock.at(now + endAt, () => this.resume(end()))
    return undefined
  }

  /** The record of a call that ends now; it began at `at`. */
  private called(
    { number, request, step }: CommandOf<"Call">,
    at: number,
    outcome: Reply["outcome"]
  ): Records.TurnRecord {
    const { clock, spread } = this.around
    const endedAt = clock.now()
    const value: Completed | Failed =
      outcome._tag === "Completed" ? { ...outcome, endedAt } : { ...this.seen(outcome), spread: spread(), endedAt }
    this.around.spend?.counted(request.turnId, request.target, value)
    if (value._tag === "Completed" && this.offers.hasRouter) this.decisions.answered(request, at, endedAt)
    this.mark(request, at, value)
    return { kind: "Attempt", step, number, value }
  }

  private seen<F extends Omit<Failed, "endedAt" | "spread">>(outcome: F): F {
    const isUnseen = outcome.contentSeen && this.decisions.isUnseen(outcome.failure)
    return isUnseen ? { ...outcome, unseen: true as const } : outcome
  }

  /** Notes an attempt for the course. */
  protected mark(
    { credential, target }: Pick<CommandOf<"Call">["request"], "target" | "credential">,
    at: number,
    outcome: Completed | Failed
  ): void {
    const call = { at, endedAt: outcome.endedAt, target: Target.format(target), ...defined({ credential }) }
    if (outcome._tag === "Completed") {
      const usage = this.countsTokens ? outcome.usage : undefined
      return void this.calls.push({ ...call, outcome: "answered", ...defined({ usage }) })
    }
    const { contentSeen, failure } = outcome
    if (Failure.isOfSpendLimit(failure)) return // no call was made
    this.calls.push({
      ...call,
      outcome: failure.shared === true ? "shared" : "failed",
      reason: failure.reason,
      ...(contentSeen ? { contentSeen } : {})
    })
  }

  // --- waits

  /** As `Admission.waitAtGate`: the gate may end the wait before its time, or hold the turn after it. */
  private wait(command: CommandOf<"Wait">): undefined {
    const { clock, gates } = this.around
    const { awaited, wait } = command
    const isRefused = Failure.isOfSpendLimit(awaited.failure)
    const gateWait = isRefused ? undefined : Gates.waitOf(gates, Ids.TurnId.make(this.prompted.turnId), awaited)
    const isDriven = !this.offers.hasRouter && command.step === 0 && !isRefused
    const endAt = Math.max(wait.retryAt, isDriven ? clock.now() + 1 : 0) // DryTurn.D4
    if (wait.retryAt - clock.now() > RESIDENT_MS) this.decisions.parked()
    if (gateWait === undefined) {
      clock.at(endAt, () => this.resume(this.woken(command, { type: "elapsed" })))
      return undefined
    }
    const { gatekeeper } = gateWait
    const sleeper: Sleeper = {
      ...gateWait,
      held: () => {},
      wake: (ticket) => {
        cancel()
        // The turn continues once the gate has settled.
        clock.at(clock.now(), () => {
          gatekeeper.leave(sleeper)
          this.stopWaiting = undefined
          if (this.end !== undefined) return ticket.giveBack()
          this.ticket = ticket
          const { heldMs } = ticket
          const elapsed = { type: "elapsed" as const, ...(heldMs > 0 ? { heldMs } : {}) }
          this.resume(this.woken(command, ticket.isEarly ? wakeEarly(ticket) : elapsed))
        })
      }
    }
    const cancel = clock.at(endAt, () => gatekeeper.due(sleeper))
    this.stopWaiting = () => {
      cancel()
      gatekeeper.leave(sleeper)
    }
    gatekeeper.enter(sleeper)
    return undefined
  }

  /** The record of a wait that ends now: of its own, or because a person is asked first. */
  protected woken(command: CommandOf<"Wait">, wake: RetryStrategy.Wake): Records.TurnRecord {
    const { number, step } = command
    const at = this.around.clock.now()
    const question = Failure.isOfSpendLimit(command.awaited.failure)
      ? command.outlook && this.around.spend?.question(Ids.TurnId.make(this.prompted.turnId), at)
      : this.decisions.ask(command, at)
    const value: RetryStrategy.Wake =
      question === undefined
        ? { ...wake, at }
        : { type: "asked", asks: question.asks, until: at + question.answerWithinMs, at, ...defined({ by: wake.by }) }
    if (question !== undefined) this.dropTicket()
    this.waited(command, value, at)
    return { kind: "Wake", step, number, value }
  }

  /** Notes a wait for the course. */
  protected waited({ wait, awaited }: CommandOf<"Wait">, wake: RetryStrategy.Wake, endedAt: number): void {
    const isEarly = wake.type === "now" && wake.early === true
    const from = Math.max(awaited.since, this.waits.at(-1)?.endedAt ?? awaited.since)
    this.waits.push({ from, retryAt: wait.retryAt, endedAt, ...(isEarly ? { early: true } : {}) })
  }

  private dropTicket(): void {
    this.ticket?.giveBack()
    this.ticket = undefined
  }
}

// --- internal

const ABORTED: Failure.Failure = { reason: "aborted", message: "The turn was aborted.", retryable: false }
