/**
 * Runs one recorded turn again: by its record as long as the policy decides what the record has, and on its own from then on.
 *
 * ReplayedTurn.P1. Attempts, tools, and the ends of waits come from the record, with their times and draws; decisions and routes are made
 *     again. So the same configuration makes the recorded decisions, to the millisecond.
 * ReplayedTurn.P2. It leaves its record at the first decision, route or question that differs, where the gate of the record is switched off,
 *     or where the record ends without a seal.
 * ReplayedTurn.P3. A person's commands count until then. A turn that a person aborted is aborted at the same time, unless it has ended.
 */
import { type Directive, type Machine, type Records, RetryStrategy, type Route } from "@holdfast/kernel"
import { defined, Target } from "@holdfast/wire"
import { RESIDENT_MS } from "../turn/TurnRunner.ts"
import type { CommandOf } from "./DryDecisions.ts"
import { DryTurn, type Surroundings } from "./DryTurn.ts"
import type { RecordedTurn } from "../storage/Recording.ts"
import type { RecordedCall } from "./RecordedReplies.ts"

/** How far a replayed turn has followed its record. */
export interface Followed {
  /** Decisions about failures that were made again as they are on record. */
  readonly decisions: number
  /** When it left its record, in epoch milliseconds; absent: it did not. */
  readonly leftAt?: number
}

/** One turn of a replay. With `isVerbatim` it follows its record to the end, and nothing is decided again. */
export class ReplayedTurn extends DryTurn {
  private readonly recorded: RecordedTurn
  private readonly isVerbatim: boolean
  /** Receives the calls that the record has. */
  private readonly onCall: (call: RecordedCall) => void
  private before: { readonly turn: DryTurn; readonly recordedAt: number } | undefined = undefined
  private next = 0
  private isFollowing = true
  private decisionsMade = 0
  private leftAt: number | undefined = undefined

  constructor(
    recorded: RecordedTurn,
    around: Surroundings,
    {
      isVerbatim = false,
      onCall = () => {}
    }: { readonly isVerbatim?: boolean; readonly onCall?: (call: RecordedCall) => void } = {}
  ) {
    const { acceptedAt, isSubmitted, target, turnId } = recorded
    super({ turnId, startedAt: acceptedAt, target, isSubmitted }, around)
    this.recorded = recorded
    this.isVerbatim = isVerbatim
    this.onCall = onCall
  }

  protected override get countsTokens(): boolean {
    return true
  }

  /** How far it has followed its record. */
  get followed(): Followed {
    return { decisions: this.decisionsMade, ...defined({ leftAt: this.leftAt }) }
  }

  /** Lets it begin behind another turn of its conversation; in the record it began at `recordedAt`. */
  follows(before: DryTurn, recordedAt: number): void {
    this.before = { turn: before, recordedAt }
  }

  override begin(): void {
    const { before } = this
    if (before === undefined) return super.begin()
    before.turn.whenEnded((endedAt) => {
      const at = Math.max(this.prompted.startedAt, endedAt)
      if (at !== before.recordedAt && !this.isVerbatim) this.left()
      super.begin(at)
    })
  }

  protected override perform(command: Machine.Command): Records.TurnRecord | undefined {
    if (!this.isFollowing) return super.perform(command)
    const { records } = this.recorded
    while (records[this.next]?.kind === "Content") this.next++
    const record = records[this.next]
    if (record === undefined) return this.atEnd(command)
    // Questions about tool calls are repeated as they were: a dry run has no tools of its own.
    if (record.kind === "Wake" && (command._tag === "RunTool" || command._tag === "Ask")) {
      this.next++
      return this.later(record.value.at ?? 0, () => record)
    }
    const present = this.ledger.routing.route
    if (!this.isVerbatim && !isOf(record, command)) {
      // With a router a step begins with a route, without one it does not: that is no difference while it is the turn's own.
      if (command._tag === "Route") return this.routed(command, { ...record, kind: "Route", value: { route: present } })
      if (record.kind !== "Route" || !isSameRoute(record.value.route, present)) return this.leave(command)
      this.next++
      return this.perform(command)
    }
    this.next++
    return this.follow(command, record)
  }

  private follow(command: Machine.Command, record: Records.TurnRecord): Records.TurnRecord | undefined {
    switch (record.kind) {
      case "Route":
        return command._tag === "Route" ? this.routed(command, record) : record
      case "Attempt":
        return command._tag === "Call" ? this.attempted(command, record) : undefined
      case "Decision":
        return command._tag === "Decide" ? this.redecided(command, record) : undefined
      case "Wake":
        return command._tag === "Wait" ? this.waitedFor(command, record) : undefined
      case "Tool":
      case "Compaction":
        return this.later(record.value.endedAt, () => record)
      case "Final":
        return this.later(record.value.at, () => record)
      case "Begun":
      case "Content":
      case "Seal":
        return record
      default:
        return record satisfies never
    }
  }

  /** Now, or when its time comes. */
  private later(at: number, make: () => Records.TurnRecord): Records.TurnRecord | undefined {
    const { clock } = this.around
    if (at <= clock.now()) return make()
    clock.at(at, () => this.resume(make()))
    return undefined
  }

  /** ReplayedTurn.P2 */
  private leave(command: Machine.Command): Records.TurnRecord | undefined {
    this.left()
    return super.perform(command)
  }

  private left(): void {
    const { clock } = this.around
    this.isFollowing = false
    this.leftAt = clock.now()
    const { end } = this.recorded
    if (end?.status === "aborted") clock.at(end.endedAt, () => this.cutOff(end.endedAt, "aborted", end.error)) // ReplayedTurn.P3
  }

  /** The record has no more: the turn ends as it did, or goes on by itself. */
  private atEnd(command: Machine.Command): Records.TurnRecord | undefined {
    const { end } = this.recorded
    if (end === undefined) return this.isVerbatim ? undefined : this.leave(command)
    if (command._tag !== "Seal" && end.status === "completed") return this.leave(command)
    return this.later(end.endedAt, () => {
      if (command._tag !== "Seal")
        return this.cut(end.endedAt, end.status === "aborted" ? "aborted" : "failed", end.error)
      return this.seal(command, end.endedAt)
    })
  }

  private routed(command: CommandOf<"Route">, record: Records.RecordOf<"Route">): Records.TurnRecord {
    if (this.isVerbatim) return record
    const { clock } = this.around
    const chosen = this.decisions.begin(sinceLast(command, record.value.from), this.ledger.routing.route, clock.now())
    if (isSameRoute(chosen.route, record.value.route)) return record
    this.left()
    const { from } = record.value
    return { ...record, value: { ...chosen, ...defined({ from }) } }
  }

  private attempted(command: CommandOf<"Call">, record: Records.RecordOf<"Attempt">): Records.TurnRecord | undefined {
    const { clock, gates } = this.around
    const { request, step } = command
    const { value } = record
    const at = clock.now()
    if (value._tag === "Lost") return this.later(value.endedAt, () => record)
    const isShared = value._tag === "Failed" && value.failure.shared === true
    const gatekeeper = gates.of(request)
    if (isShared && gatekeeper === undefined && !this.isVerbatim) return this.leave(command)
    const call = isShared ? undefined : gatekeeper?.begin(request.turnId)
    return this.later(value.endedAt, () => {
      if (value._tag === "Failed") call?.failed(value.failure)
      else {
        call?.answered()
        call?.ended()
      }
      if (value._tag === "Completed" || value.whole === true) this.decisions.answered(request, at, clock.now())
      this.mark(request, at, value)
      const { credential, target } = request
      const route = { target, ...defined({ credential }) }
      if (!isShared) this.onCall({ turnId: this.prompted.turnId, step, route, at, outcome: value })
      return record
    })
  }

  private redecided(
    command: CommandOf<"Decide">,
    record: Records.RecordOf<"Decision">
  ): Records.TurnRecord | undefined {
    const { value } = record
    const at = value._tag === "Retry" ? RetryStrategy.sinceOf(value) : 0
    return this.later(at, () => {
      if (this.isVerbatim || isSwitchedOff(value)) return this.decision(command, value)
      const again = this.decisions.decide(command, this.around.clock.now())
      if (isSame(again, value, this.ledger.routing.route)) {
        this.decisionsMade++
        return this.decision(command, value)
      }
      this.left()
      return this.decision(command, again)
    })
  }

  private waitedFor(command: CommandOf<"Wait">, record: Records.RecordOf<"Wake">): Records.TurnRecord | undefined {
    const { clock, gates } = this.around
    const { awaited, wait } = command
    const { value } = record
    const isEarly = value.type === "now" && value.early === true
    const isHeld = value.type === "elapsed" && value.heldMs !== undefined
    if ((isEarly || isHeld) && !this.isVerbatim && gates.of(awaited.route) === undefined) return this.leave(command)
    if (wait.retryAt - clock.now() > RESIDENT_MS) this.decisions.parked()
    return this.later(value.at ?? wait.retryAt, () => {
      const isOfItself = value.type === "elapsed" || value.type === "asked" || isEarly
      if (!this.isVerbatim && isOfItself) {
        const question = this.decisions.ask(command, clock.now())
        if ((question !== undefined) !== (value.type === "asked")) {
          this.left()
          return this.woken(command, { type: "elapsed" })
        }
      }
      this.waited(command, value, clock.now())
      return record
    })
  }
}

// --- internal

const KINDS: { readonly [Tag in Machine.Command["_tag"]]: ReadonlyArray<Records.Kind> } = {
  Final: ["Final"],
  Route: ["Route"],
  Call: ["Attempt"],
  Decide: ["Decision"],
  Wait: ["Wake"],
  Ask: ["Wake"],
  RunTool: ["Begun", "Tool"],
  Compact: ["Compaction"],
  Seal: ["Seal"]
}

/** Whether a record is that of a command; of several tools any may be next. */
const isOf = (record: Records.TurnRecord, { _tag, number, step }: Machine.Command): boolean =>
  KINDS[_tag].includes(record.kind) &&
  (record.kind === "Seal" || record.step === step) &&
  (_tag === "RunTool" || record.number === number)

/** The target that the conversation used last stands for its last answer, which a router asks for (TurnRouter.R1). */
const sinceLast = (command: CommandOf<"Route">, from: string | undefined): CommandOf<"Route"> => {
  const target = from === undefined ? undefined : Target.parse(from)
  const { question } = command
  return question === undefined || question.current !== undefined || target === undefined
    ? command
    : { ...command, question: { ...question, current: { target } } }
}

const isSameRoute = (a: Route.Route, b: Route.Route): boolean =>
  Target.format(a.target) === Target.format(b.target) && a.credential === b.credential && a.role === b.role

/** The same attempt at the same time on the same route, or the same end. The basis is not compared: its numbers may be those of other limits. */
const isSame = (a: Directive.Directive, b: Directive.Directive, present: Route.Route): boolean =>
  a._tag === "Retry" && b._tag === "Retry"
    ? a.attempt === b.attempt &&
      a.delayMs === b.delayMs &&
      a.retryAt === b.retryAt &&
      isSameRoute(a.route ?? present, b.route ?? present)
    : a._tag === "GiveUp" && b._tag === "GiveUp" && a.because === b.because

/** A person had switched retries off (P15). */
const isSwitchedOff = ({ basis }: Directive.Directive): boolean =>
  typeof basis === "object" && basis !== null && "because" in basis && basis["because"] === "switched-off"
