/**
 * Runs one recorded turn again: by its record as long as the policy decides what the record has, and on its own from then on.
 *
 * - Attempts, tools, and the ends of waits come from the record, with their times and draws; decisions and routes are made again. So the
 *   same configuration makes the recorded decisions, to the millisecond.
 * - It leaves its record at the first decision, route or question that differs, where the gate of the record is switched off, or where the
 *   record ends without a seal.
 * - A person's commands count until then. A turn that a person aborted is aborted at the same time, unless it has ended.
 */
import { type Directive, type Records, RetryStrategy, type Route } from "@holdfast/kernel"
import type { Engine } from "@holdfast/kernel/host"
import { Basis } from "@holdfast/policy"
import { defined, type Failure, Ids, type Message, Target } from "@holdfast/wire"
import type { RecordedTurn } from "../../storage/Recording.ts"
import { RESIDENT_MS } from "../../engine/parking/Parking.ts"
import { type CommandOf, DryTurn, type Surroundings } from "./DryTurn.ts"
import type { RecordedCall } from "./DryTurnCourse.ts"

/** How far a replayed turn has followed its record. */
export interface Followed {
  /** Decisions about failures that were made again as they are on record. */
  readonly decisions: number
  /** When it left its record, in epoch milliseconds; absent: it did not. */
  readonly leftAt?: number
}

/** One turn of a replay. */
export class ReplayedTurn extends DryTurn {
  private readonly recordedTurn: RecordedTurn
  private readonly calls: ReadonlyMap<string, RecordedCall>
  /** The records that it has not come to. */
  private readonly rest: ReadonlyMap<string, Array<Records.TurnRecord>>
  private before: { readonly turn: DryTurn; readonly recordedAt: number } | undefined = undefined
  private isFollowing = true
  private decisionsMade = 0
  private leftAt: number | undefined = undefined
  /** The recorded decision about the last attempt, and the recorded end of the last wait. */
  private decision: Records.Directive | undefined = undefined
  private wake: Records.Wake | undefined = undefined
  /** The route of the last attempt. */
  private route: Route.Route

  /** `calls` are those of its record. */
  constructor(recorded: RecordedTurn, calls: ReadonlyArray<RecordedCall>, around: Surroundings) {
    const { acceptedAt, isSubmitted, target, turnId } = recorded
    super({ turnId, startedAt: acceptedAt, target, isSubmitted, history: historyOf(recorded) }, around, true)
    this.recordedTurn = recorded
    this.route = { target }
    this.calls = new Map(calls.map((call) => [keyOf("Attempt", call), call]))
    this.rest = Map.groupBy(recorded.records, (record) => keyOf(record.kind, record))
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
      if (at !== before.recordedAt) this.left()
      super.begin(at)
    })
  }

  /** A person had switched retries off (P15). */
  protected override isEnabled(): boolean {
    const basis = this.isFollowing ? Basis.of(this.decision?.basis) : undefined
    return super.isEnabled() && !(basis?._tag === "Refused" && basis.because === "switched-off")
  }

  protected override start(command: Engine.Command): void {
    const goOn = () => super.start(command)
    if (!this.isFollowing) return goOn()
    switch (command._tag) {
      case "Call":
        return this.called(command, goOn)
      case "Decide":
        return this.at(decidedAt(this.decision), goOn)
      case "RunTool":
        return this.ended(this.next("Tool", command), goOn)
      case "Compact":
        return this.ended(this.next("Compaction", command), goOn)
      default:
        return goOn()
    }
  }

  private ended(record: Records.RecordOf<"Tool"> | Records.RecordOf<"Compaction"> | undefined, goOn: () => void): void {
    if (record === undefined) this.atEnd(goOn)
    else this.at(record.value.endedAt, (at) => this.done(record, at))
  }

  private called(command: CommandOf<"Call">, goOn: () => void): void {
    const { clock, gates } = this.around
    const { request } = command
    const call = this.calls.get(keyOf("Attempt", command))
    const record = this.next("Attempt", command)
    if (record === undefined) return this.atEnd(goOn)
    const { value } = record
    this.route = request
    if (value._tag === "Lost") return this.at(value.endedAt, (at) => this.done(record, at))
    const isShared = value._tag === "Failed" && value.failure.shared === true
    const gatekeeper = gates.of(request)
    const isElsewhere = call === undefined || !isSameRoute(call.route, request)
    if (isElsewhere || (isShared && gatekeeper === undefined)) return this.leave(goOn)
    const reported = isShared ? undefined : gatekeeper?.begin(request.turnId)
    const began = clock.now()
    this.at(value.endedAt, () => {
      if (value._tag === "Failed") reported?.failed(value.failure)
      else {
        reported?.answered()
        reported?.ended()
      }
      if (value._tag === "Completed" || value.whole === true) this.answered(began)
      this.decision = this.rest.get(keyOf("Decision", command))?.[0]?.value as Records.Directive | undefined
      const { end } = this.recordedTurn
      const at = (this.wasOver(record) ? end?.endedAt : decidedAt(this.decision)) ?? value.endedAt
      this.at(at, () => this.done(record, at))
    })
  }

  protected override sleep(sleep: Parameters<DryTurn["sleep"]>[0]): void {
    const goOn = () => super.sleep(sleep)
    const [waiting] = this.turn.state.open
    if (!this.isFollowing || waiting === undefined) return goOn()
    const { awaited, leftMs, retryAt } = sleep
    const record = this.next("Wake", waiting)
    if (record === undefined) return this.atEnd(goOn)
    const { value } = record
    const isByGate = RetryStrategy.isEarly(value) || (value.type === "elapsed" && value.heldMs !== undefined)
    if (isByGate && awaited !== undefined && this.around.gates.of(awaited.route) === undefined) return this.leave(goOn)
    if (leftMs > RESIDENT_MS) this.comesIntoMemory()
    this.wake = value
    this.at(value.at ?? retryAt, (at) => this.woken(value, at))
  }

  protected override recorded(record: Records.TurnRecord): void {
    super.recorded(record)
    if (!this.isFollowing) return
    if (record.kind === "Wake" && (record.value.type === "asked") !== (this.wake?.type === "asked")) this.left()
    if (record.kind !== "Decision") return
    const was = this.next("Decision", record)
    if (was === undefined) this.atEnd(() => {})
    else if (isSame(record.value, was.value, this.route)) this.decisionsMade++
    else this.left()
  }

  /** The next record of a kind, of a command or another record. */
  private next<K extends Records.Kind>(kind: K, at: Records.RecordPosition): Records.RecordOf<K> | undefined {
    return this.rest.get(keyOf(kind, at))?.shift() as Records.RecordOf<K> | undefined // they are grouped by kind
  }

  /** Now, or when its time comes; that may be between two milliseconds. */
  private at(at: number | undefined, act: (at: number | undefined) => void): void {
    const { clock } = this.around
    if (at === undefined || at <= clock.now()) act(at)
    else clock.at(at, () => act(at))
  }

  /** Whether the turn ended with this attempt, or with the decision about it. */
  private wasOver({ value }: Records.RecordOf<"Attempt">): boolean {
    const last = this.recordedTurn.records.findLast(({ kind }) => kind !== "Seal" && kind !== "Content")?.value
    return last === value || (this.decision?._tag === "GiveUp" && last === this.decision)
  }

  /** The record has no more: the turn ends as it did, or goes on by itself. */
  private atEnd(goOn: () => void): void {
    const { end } = this.recordedTurn
    if (end === undefined || end.status === "completed") return this.leave(goOn)
    const { endedAt, error, status } = end
    this.at(endedAt, () => this.cut({ status, failure: error ?? ABORTED }, endedAt))
  }

  private leave(goOn: () => void): void {
    this.left()
    goOn()
  }

  private left(): void {
    const { clock } = this.around
    this.isFollowing = false
    this.leftAt = clock.now()
    const { end } = this.recordedTurn
    if (end?.status === "aborted")
      clock.at(end.endedAt, () => this.cut({ status: "aborted", failure: end.error ?? ABORTED }, end.endedAt))
  }
}

// --- internal

const ABORTED: Failure.Failure = { reason: "aborted", message: "The turn was aborted.", retryable: false }

const keyOf = (kind: Records.Kind, { number, step }: Records.RecordPosition): string => `${kind} ${step}/${number}`

/** The target that the conversation used last stands for its last answer, which a router asks for. */
const historyOf = ({ records, turnId }: RecordedTurn): ReadonlyArray<Message.Message> => {
  const route = records.find(({ kind }) => kind === "Route")
  const from = route?.kind === "Route" ? route.value.from : undefined
  const target = from === undefined ? undefined : Target.parse(from)
  if (target === undefined) return []
  return [{ role: "assistant", id: Ids.messageIdOf(turnId, 0), turnId, createdAt: 0, content: [], target }]
}

const isSameRoute = (a: Route.Route, b: Route.Route): boolean =>
  Target.format(a.target) === Target.format(b.target) && a.credential === b.credential

/** The same attempt at the same time on the same route, or the same end. The basis is not compared: its numbers may be those of other limits. */
const isSame = (a: Directive.Directive, b: Directive.Directive, present: Route.Route): boolean =>
  a._tag === "Retry" && b._tag === "Retry"
    ? a.attempt === b.attempt &&
      a.delayMs === b.delayMs &&
      a.retryAt === b.retryAt &&
      isSameRoute(a.route ?? present, b.route ?? present)
    : a._tag === "GiveUp" && b._tag === "GiveUp" && a.because === b.because

const decidedAt = (decision: Directive.Directive | undefined): number | undefined =>
  decision?._tag === "Retry" ? RetryStrategy.sinceOf(decision) : undefined
