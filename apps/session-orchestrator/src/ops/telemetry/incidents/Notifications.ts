/**
 * Keeps the incidents of all endpoints: one notice per incident's begin and end, per cause of failed turns, and per question to a person (X12).
 *
 * `Incidents` decides for each endpoint. This file has the clock, collects what the turns of this process report, asks the log, and writes
 * the decisions; `Deliveries` sends what is in the outbox. A turn reports and continues: a fiber does the rest. Without receivers, incidents
 * are in memory, counted there, and only logged: the log costs a read of all open turns. A notice of quiet hours is due at their end.
 *
 * The beginning and the end of an incident are logged by the runner that has found them. `FailedTurnLog` logs failed turns.
 *
 * Notifications.N2. A transition and its notices are one transaction, over all runners of a database, so none is lost and none is made
 *     twice. The id of a notice follows from its incident or cause. What a process that is killed has not written, the log has.
 * Notifications.N3. Each receiver gets the notices in order and does not wait for another receiver.
 */
import type { StorageError } from "@holdfast/journal"
import type { Observer } from "@holdfast/kernel"
import { defined, Failure, type Ids, Target } from "@holdfast/wire"
import { Clock, Context, Duration, Effect, Metric, Option, Queue, Schema } from "effect"
import * as NoticeMessages from "../../delivery/NoticeMessages.ts"
import type { Decide, IncidentStates } from "../../../storage/IncidentStates.ts"
import type { Outbox } from "../../../storage/Outbox.ts"
import * as EndpointLog from "./EndpointLog.ts"
import * as Incidents from "./Incidents.ts"
import * as Notice from "./Notice.ts"
import * as FailedTurnLog from "../logs/FailedTurnLog.ts"
import * as QuestionNotice from "../../delivery/QuestionNotice.ts"

/** The limits. */
interface Options {
  readonly after: Duration.Duration
  readonly redact: (text: string) => string
}

/** The database, and who reads it. */
interface KeepOptions {
  readonly storage: IncidentStates["Service"]
  readonly standingsOf: (
    questions: ReadonlyMap<string, EndpointLog.EndpointQuestion>
  ) => Effect.Effect<ReadonlyMap<string, EndpointLog.EndpointStanding>, StorageError>
  readonly uncounted: (since: number) => Effect.Effect<ReadonlyArray<EndpointLog.UncountedTurn>, StorageError>
  readonly receivers: NoticeMessages.Receivers
  /** No other process runs turns of the database. */
  readonly isAlone: boolean
  /** Where a browser reaches the page, without a path. */
  readonly origin?: string | undefined
  /** Puts messages into the outbox. */
  readonly add: Outbox["Service"]["add"]
}

/** The notifications of this process. */
export class Notifications extends Context.Service<Notifications, Effect.Success<ReturnType<typeof make>>>()(
  "@holdfast/session-orchestrator/telemetry/incidents/Notifications"
) {}

/** How long the database may be behind if there is no notice to write, and how long another runner's change may be unknown. */
const INTERVAL_MS = 5_000

/** The least time between two decisions without news. */
const LEAST_MS = 100

/** How often the log is asked about an incident that no turn of this process waits for. */
const LOOK_MS = 60_000

/** A turn that has ended has it asked earlier, but not within so many times what the last question took: it reads all open turns. */
const REST = 10

/** A turn that failed so long ago gets no notice of its cause: notices were off, as a rule. */
const OLDEST_MS = 7 * 86_400_000

/** The most endpoints that are watched at once: the simulated provider has any number of model names. */
export const MOST_ENDPOINTS = 1_000

/** How long a shutdown waits for the disk. */
const LAST_WORDS = "2 seconds"

/** Questions that are kept while the database is away. */
const MOST_KEPT = 10_000

/** Gauge of open incidents. */
export const openIncidents = Metric.gauge("holdfast_incidents_open", {
  description:
    "Endpoints that turns of this process wait for and that have answered nobody for longer than telemetry.notifications.after."
})

/** Makes the listeners of turns. */
export const make = Effect.fnUntraced(function* ({ after, redact }: Options) {
  const context = yield* Effect.context<never>()
  const afterMs = Duration.toMillis(after)
  const bell = yield* Queue.sliding<void>(1)
  /** Endpoints by their formatted target, as they were read or decided last, and what has been seen since. */
  let known: ReadonlyMap<string, Incidents.EndpointState> = new Map()
  /** What earlier processes left is among them. */
  let isRead = false
  let news = new Map<string, Incidents.IncidentNews>()
  /** There is something to decide that does not wait. */
  let isUrgent = false
  /** The endpoint that each turn of this process waits for, by its conversation, and the number of these turns. */
  const waits = new Map<Ids.ConversationId, string>()
  const counts = new Map<string, number>()
  /** Incidents that no turn of this process waits for: the answer of the log, and when it is asked again. */
  const looks = new Map<string, { readonly waiting: number; readonly leastAt: number; readonly nextAt: number }>()
  let isAlone = false
  let questions: Array<QuestionNotice.Question> = []

  const countOpen = (): void => {
    const isOpen = ([key, { trouble }]: readonly [string, Incidents.EndpointState]) =>
      trouble?.isTold === true && (counts.has(key) || (isAlone && (looks.get(key)?.waiting ?? 0) > 0))
    openIncidents.updateUnsafe(Array.from(known).filter(isOpen).length, context)
  }

  const ring = (urgent: boolean): void => {
    isUrgent ||= urgent
    Queue.offerUnsafe(bell, undefined)
  }

  /** A turn waits for an endpoint, or for none. */
  const waitsFor = (id: Ids.ConversationId, key?: string): void => {
    const before = waits.get(id)
    if (before === key) return
    if (before !== undefined) {
      const left = (counts.get(before) ?? 1) - 1
      if (left > 0) counts.set(before, left)
      else {
        counts.delete(before)
        looks.delete(before)
      }
      waits.delete(id)
    }
    if (key !== undefined) {
      waits.set(id, key)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    countOpen()
  }

  const learn = (key: string, more: Incidents.IncidentNews): void => {
    if (!news.has(key) && news.size >= MOST_ENDPOINTS) return
    news.set(key, Incidents.joined(news.get(key) ?? {}, more))
  }

  /** What turns report to. */
  const listeners: Observer.Listeners = {
    attempt: ({ conversationId, outcome, target }) => {
      // An invalid response is an answer of the endpoint all the same (A9).
      if (outcome._tag !== "Completed" && (outcome._tag !== "Failed" || outcome.whole !== true)) return
      const key = Target.format(target)
      const { since, said } = news.get(key) ?? {}
      if (!isRead || since !== undefined || known.has(key)) {
        const answer = { at: outcome.endedAt, waiting: counts.get(key) ?? 0, ...defined({ since, said }) }
        learn(key, { answer })
        ring(known.get(key)?.trouble !== undefined || since !== undefined)
      }
      waitsFor(conversationId)
    },
    decision: ({ at, conversationId, directive, failure, target }) => {
      if (directive._tag !== "Retry") return
      // A turn that switches to another endpoint at once does not wait. A turn at a limit of spending waits for a person.
      if (directive.delayMs <= 0 || Failure.isOfSpendLimit(failure)) return waitsFor(conversationId)
      const key = Target.format(directive.route?.target ?? target)
      learn(key, { since: at, said: said(failure) })
      waitsFor(conversationId, key)
      if (afterMs < INTERVAL_MS) ring(false)
    },
    wait: ({ conversationId, wake }) => {
      if (wake.type === "switched") waitsFor(conversationId)
    },
    seal: ({ conversationId, end }) => {
      waitsFor(conversationId)
      for (const [key, look] of looks) {
        const nextAt = Math.min(look.nextAt, Math.max(look.leastAt, end.endedAt + Incidents.SETTLE_MS))
        looks.set(key, { ...look, nextAt })
      }
      if (end.status === "failed") ring(true)
    },
    moved: ({ conversationId }) => waitsFor(conversationId),
    event: ({ event }) => {
      if (event.type !== "provider-retry" || event.asks === undefined || questions.length >= MOST_KEPT) return
      questions.push({ event, asks: event.asks })
      ring(true)
    }
  }
  const said = saidBy(redact)

  /** Keeps the incidents while the scope lives, beginning with those that are in the database. */
  const keep = Effect.fnUntraced(function* (options: KeepOptions) {
    const { add, origin, receivers, standingsOf, storage, uncounted } = options
    const isKept = receivers.names.length > 0
    isAlone = options.isAlone
    /** Writes a notice of each question. A process that is killed before that loses the notice; the report has the question. */
    const ask = Effect.suspend(() => {
      const taken = questions.slice()
      const texts = { after, origin, receivers, redact }
      const messages = taken.flatMap((question) => QuestionNotice.messagesOf(question, texts))
      const written = messages.length === 0 ? Effect.void : add(messages)
      return Effect.map(written, () => void (questions = questions.slice(taken.length)))
    })
    const decided = Effect.fnUntraced(function* (seen: ReadonlyMap<string, Incidents.IncidentNews>) {
      const at = yield* Clock.currentTimeMillis
      const turns = isKept ? yield* uncounted(at - OLDEST_MS) : []
      const states = isKept ? statesIn(yield* storage.load) : known
      const situationOf = (key: string, failed: ReadonlyArray<EndpointLog.UncountedTurn>) => {
        const target = Target.parse(key) ?? { provider: "", model: key }
        const failures = failed.flatMap(({ model, turn: { end } }) =>
          model === key && end !== undefined ? [{ at: end.endedAt, said: said(end.error) }] : []
        )
        return { target, news: seen.get(key) ?? {}, failed: failures, at, afterMs }
      }
      const keys = new Set([...states.keys(), ...seen.keys(), ...turns.map(({ model }) => model)])
      const questions = new Map<string, EndpointLog.EndpointQuestion>()
      for (const key of keys) {
        const isUnwatched = !counts.has(key) && (looks.get(key)?.nextAt ?? 0) <= at
        const question = Incidents.questionOf(
          states.get(key) ?? Incidents.NOTHING,
          situationOf(key, turns),
          isUnwatched
        )
        // A process that was killed may have left an answer in the log alone.
        if (question !== undefined) questions.set(key, isRead ? question : { ...question, wantsEnds: true })
      }
      const isAsked = isKept && questions.size > 0
      const standings = isAsked
        ? yield* standingsOf(questions)
        : new Map(Array.from(questions.keys(), (key) => [key, EndpointLog.watched(counts.get(key) ?? 0)]))
      const leastAt = at + REST * ((yield* Clock.currentTimeMillis) - at)
      let next: ReadonlyMap<string, Incidents.EndpointState> = states
      let notices: ReadonlyArray<Notice.Notice> = []
      const decide: Decide = (rows, counted) => {
        const before = isKept ? statesIn(rows) : known
        const after = new Map(before)
        const made: Array<Notice.Notice> = []
        const failed = turns.filter(({ turn }) => counted.has(turn.turnId))
        for (const key of keys) {
          const state = before.get(key) ?? Incidents.NOTHING
          const [changed, told] = Incidents.decide(state, situationOf(key, failed), standings.get(key))
          made.push(...told)
          if (changed.trouble === undefined && changed.causes.length === 0) after.delete(key)
          else if (before.has(key) || after.size < MOST_ENDPOINTS) after.set(key, changed)
        }
        next = after
        notices = made.toSorted((a, b) => a.since - b.since)
        // Notifications.N3
        const messages = notices.flatMap((notice) => NoticeMessages.of(receivers, "notices", Notice.bodyOf(notice), at))
        const rowsAfter = Array.from(after, ([endpoint, state]) => ({ endpoint, state: encode(state) }))
        const isNew = (row: (typeof rowsAfter)[number]) =>
          row.state !== encode(before.get(row.endpoint) ?? Incidents.NOTHING)
        return {
          rows: rowsAfter.filter(isNew),
          removed: Array.from(before.keys()).filter((key) => !after.has(key)),
          messages
        }
      }
      const ids = turns.map(({ turn }) => turn.turnId)
      const { messages, removed, rows } = decide(isKept ? rowsOf(states) : [], new Set(ids))
      const isChange = messages.length + removed.length + rows.length + ids.length > 0
      if (isChange && isKept) yield* storage.change(decide, ids) // Notifications.N2
      known = next
      isRead = true
      for (const [key, { isHeld, waiting }] of standings)
        looks.set(key, { waiting, leastAt, nextAt: isHeld ? at + LOOK_MS : at })
      for (const key of looks.keys()) if (!known.has(key)) looks.delete(key)
      countOpen()
      for (const notice of notices) if (notice.type !== "turns-failed") yield* Effect.logInfo(Notice.textOf(notice))
    })
    let isRefused = false
    const flush = Effect.suspend(() => {
      const taken = news
      news = new Map()
      isUrgent = false
      return Effect.andThen(ask, decided(taken)).pipe(
        Effect.map(() => {
          isRefused = false
        }),
        // The last flush of a process that stops writes what an interrupted one has not.
        Effect.onError(() =>
          Effect.sync(() => {
            const later = news
            news = new Map(taken)
            for (const [key, more] of later) learn(key, more)
          })
        ),
        Effect.catchTag("StorageError", ({ message }) =>
          Effect.suspend(() => {
            const said = isRefused ? Effect.void : Effect.logError(`Incidents are not recorded for now. ${message}`)
            isRefused = true
            return said
          })
        )
      )
    })
    const nextAt = (flushedAt: number): number => {
      const waiting = Array.from(news.values(), ({ since = Infinity }) => since + afterMs)
      // What was due and is not decided waits for a later moment.
      const states = Array.from(known.values(), (state) => Incidents.dueAt(state, afterMs)).filter(
        (at) => at > flushedAt
      )
      return Math.max(flushedAt + LEAST_MS, Math.min(flushedAt + INTERVAL_MS, ...waiting, ...states))
    }
    yield* flush
    yield* Effect.addFinalizer(() => Effect.timeoutOption(flush, LAST_WORDS))
    let flushedAt = yield* Clock.currentTimeMillis
    const next = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const at = isRefused ? flushedAt + INTERVAL_MS : isUrgent ? now : nextAt(flushedAt)
      if (at > now) yield* Effect.timeoutOption(Queue.take(bell), Duration.millis(at - now))
      else {
        flushedAt = now
        yield* flush
      }
    })
    yield* Effect.forkScoped(Effect.forever(next))
  })

  countOpen()
  return { listeners, keep }
})

// --- internal

type States = ReadonlyMap<string, Incidents.EndpointState>

const codec = Schema.fromJsonString(Incidents.EndpointState)
const decode = Schema.decodeUnknownOption(codec)
const encode = Schema.encodeSync(codec)

/** A row that cannot be read counts as none: an outage that lasts is detected again. */
const statesIn = (rows: Parameters<Decide>[0]): States =>
  new Map(
    rows.flatMap(({ endpoint, state }) =>
      Option.toArray(Option.map(decode(state), (read) => [endpoint, read] as const))
    )
  )

const rowsOf = (states: States): Parameters<Decide>[0] =>
  Array.from(states, ([endpoint, state]) => ({ endpoint, state: encode(state) }))

/** In an outage the same message repeats: it is redacted once. */
const saidBy = (redact: (text: string) => string) => {
  let last: { readonly failure: Failure.Failure; readonly said: Notice.Notice["said"] } | undefined
  return (failure?: Failure.Failure): Notice.Notice["said"] => {
    if (failure === undefined) return FailedTurnLog.errorOf(undefined, redact)
    if (last === undefined || !isSame(last.failure, failure))
      last = { failure, said: FailedTurnLog.errorOf(failure, redact) }
    return last.said
  }
}

const isSame = (a: Failure.Failure, b: Failure.Failure): boolean =>
  a.message === b.message && a.reason === b.reason && Failure.codeOf(a) === Failure.codeOf(b)
