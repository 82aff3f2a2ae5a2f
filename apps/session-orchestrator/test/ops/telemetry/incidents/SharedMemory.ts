/** A database in memory, for tests: incidents, their messages, and the log of turns as their observations leave it. */
import { StorageError } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import { Failure, Ids, Target } from "@holdfast/wire"
import { Duration, Effect } from "effect"
import type {
  UncountedTurn,
  EndpointQuestion,
  EndpointStanding
} from "../../../../src/ops/telemetry/incidents/EndpointLog.ts"
import * as Notifications from "../../../../src/ops/telemetry/incidents/Notifications.ts"
import type { IncidentChange, IncidentRow, IncidentStates } from "../../../../src/storage/IncidentStates.ts"
import type { NewMessage } from "../../../../src/storage/Outbox.ts"

/** A turn of the log. */
interface LoggedTurn {
  target: string
  /** The end of its last wait; absent: it does not wait. */
  until?: number
  /** The endpoints that it has waited for, each until when; the last one may not have ended. */
  readonly waited: Array<{ readonly target: string; endedAt: number }>
  readonly answers: Array<{ readonly target: string; readonly at: number }>
  end?: { readonly status: "completed" | "failed" | "aborted"; readonly at: number }
}

/** The JSON of a notice. */
type Told = Readonly<Record<"id" | "incidentId" | "type" | "provider" | "model" | "since" | "at" | "text", string>> &
  Readonly<Record<"reason" | "message" | "code", string>> &
  Readonly<Record<"failed" | "waiting", number>>

/** A database of incidents: what is in it, and what was added to its outbox. */
export class SharedMemory {
  readonly rows = new Map<string, string>()
  readonly messages: Array<NewMessage> = []
  writes = 0
  /** The turns, by their conversations; a turn that has ended stays under another key. */
  readonly turns = new Map<string, LoggedTurn>()
  /** Turns that failed, and that no change has counted. */
  failed: ReadonlyArray<UncountedTurn> = []
  private ended = 0
  private readonly counted = new Set<Ids.TurnId>()
  /** Reads and writes fail. */
  isAway = false

  /** Where each turn that has not ended is, as `provider/model`. */
  get open(): ReadonlyArray<string> {
    return Array.from(this.turns.values()).flatMap(({ end, target }) => (end === undefined ? [target] : []))
  }

  get all(): ReadonlyArray<IncidentRow> {
    return Array.from(this.rows, ([endpoint, state]) => ({ endpoint, state }))
  }

  apply({ messages, removed, rows }: IncidentChange): void {
    this.writes++
    for (const endpoint of removed) this.rows.delete(endpoint)
    for (const { endpoint, state } of rows) this.rows.set(endpoint, state)
    this.messages.push(...messages.filter(({ id }) => this.messages.every((one) => one.id !== id)))
  }

  readonly storage: IncidentStates["Service"] = {
    load: Effect.suspend(() => (this.isAway ? Effect.fail(AWAY) : Effect.succeed(this.all))),
    change: (decide, turns) =>
      Effect.suspend(() => {
        if (this.isAway) return Effect.fail(AWAY)
        const counted = new Set(turns.filter((turnId) => !this.counted.has(turnId)))
        for (const turnId of counted) this.counted.add(turnId)
        this.failed = this.failed.filter(({ turn }) => !counted.has(turn.turnId))
        return Effect.succeed(this.apply(decide(this.all, counted)))
      })
  }

  readonly uncounted = (since: number): Effect.Effect<ReadonlyArray<UncountedTurn>> =>
    Effect.sync(() => this.failed.filter(({ turn: { end } }) => end !== undefined && end.endedAt >= since))

  /** The standings of endpoints by the log. */
  readonly standingsOf = (
    questions: ReadonlyMap<string, EndpointQuestion>
  ): Effect.Effect<ReadonlyMap<string, EndpointStanding>> =>
    Effect.sync(() => {
      const standingOf = (name: string, { at: now, since, wantsEnds }: EndpointQuestion): EndpointStanding => {
        const turns = Array.from(this.turns.values())
        const hasWaited = ({ waited }: LoggedTurn) =>
          waited.some(({ endedAt, target }) => target === name && endedAt >= since)
        const open = turns.filter(({ end }) => end === undefined)
        const waiting = open.filter(({ target, until }) => target === name && until !== undefined)
        const isHeld = open.some((turn) => turn.target === name || hasWaited(turn))
        // As in the service: the ends of turns are not read then.
        const read = isHeld && !wantsEnds ? open : turns
        const ended = read.flatMap((turn) =>
          turn.end !== undefined && turn.end.at >= since && hasWaited(turn) ? [turn.end] : []
        )
        const nexts = waiting.flatMap(({ until = 0 }) => (until > now ? [until] : []))
        const answers = read.flatMap(({ answers }) => answers).filter(({ at, target }) => target === name && at > since)
        const count = (status: string) => ended.filter((end) => end.status === status).length
        return {
          waiting: waiting.length,
          nextAt: nexts.length === 0 ? undefined : Math.min(...nexts),
          isHeld,
          answeredAt: answers.length === 0 ? undefined : Math.min(...answers.map(({ at }) => at)),
          lastAnswerAt: Math.max(0, ...answers.map(({ at }) => at)),
          outcomes: { failed: count("failed"), aborted: count("aborted"), elsewhere: count("completed") },
          lastEndAt: Math.max(0, ...ended.map(({ at }) => at))
        }
      }
      return new Map(Array.from(questions, ([name, question]) => [name, standingOf(name, question)]))
    })

  /** Listeners of a process whose turns are in the log before they are observed. */
  observed(listeners: Observer.Listeners): Observer.Listeners {
    return Observer.all([this.logging, listeners])
  }

  private readonly logging: Observer.Listeners = {
    attempt: ({ outcome, target, ...place }) => {
      const turn = this.turn(place.conversationId, target)
      if (outcome._tag !== "Completed" && !(outcome._tag === "Failed" && outcome.whole === true)) return
      turn.answers.push({ target: Target.format(target), at: outcome.endedAt })
      this.goesOn(turn, outcome.endedAt)
    },
    decision: ({ at, conversationId, directive, failure, target }) => {
      const turn = this.turn(conversationId, target)
      if (directive._tag !== "Retry") return
      this.goesOn(turn, at)
      turn.target = Target.format(directive.route?.target ?? target)
      if (directive.delayMs <= 0 || Failure.isOfSpendLimit(failure)) return
      turn.until = directive.retryAt
      turn.waited.push({ target: turn.target, endedAt: Infinity })
    },
    wait: ({ at, conversationId, target, wake }) => {
      const turn = this.turn(conversationId, target)
      if (wake.type === "until") turn.until = wake.until
      if (wake.type !== "switched") return
      this.goesOn(turn, at)
      turn.target = Target.format(wake.target)
    },
    seal: ({ conversationId, end, target }) => {
      const turn = this.turn(conversationId, target)
      turn.target = Target.format(target)
      turn.end = { status: end.status, at: end.endedAt }
      this.turns.delete(conversationId)
      const turnId = Ids.TurnId.make(`${conversationId}-${this.ended++}`)
      this.turns.set(turnId, turn)
      if (end.status !== "failed") return
      const failed = { model: turn.target, turn: { turnId, end: { ...end, conversationId, turnId } } }
      this.failed = [...this.failed, failed]
    }
  }

  private turn(id: Ids.ConversationId, target: Target.Target): LoggedTurn {
    const turn = this.turns.get(id) ?? { target: Target.format(target), waited: [], answers: [] }
    this.turns.set(id, turn)
    return turn
  }

  private goesOn(turn: LoggedTurn, at: number): void {
    delete turn.until
    for (const wait of turn.waited) wait.endedAt = Math.min(wait.endedAt, at)
  }

  /** The notices to a receiver, as JSON. */
  notices(receiver = "webhook") {
    return this.messages
      .filter((message) => message.receiver === receiver)
      .map(({ payload }): Told => JSON.parse(payload ?? ""))
  }
}

/** Starts the notices of a process; returns the listeners of its turns, which are in the log before they are observed. */
export const started = Effect.fnUntraced(function* (
  memory: SharedMemory,
  {
    add = () => Effect.void,
    after = Duration.minutes(5),
    isAlone = false,
    receivers = { names: ["webhook"] },
    redact = String
  }: Partial<Parameters<typeof Notifications.make>[0] & Parameters<Keep>[0]> = {}
) {
  const { keep, listeners } = yield* Notifications.make({ after, redact })
  const { standingsOf, storage, uncounted } = memory
  yield* keep({ storage, standingsOf, uncounted, add, receivers, isAlone })
  return memory.observed(listeners)
})

type Keep = Effect.Success<ReturnType<typeof Notifications.make>>["keep"]

const AWAY = new StorageError({ message: "The database is away." })
