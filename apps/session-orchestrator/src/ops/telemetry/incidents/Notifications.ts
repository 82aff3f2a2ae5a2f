/**
 * Puts one notice per incident's begin and end, per cause of failed turns, and per question to a person, into the outbox (X12).
 *
 * `Incidents` decides on the notices. This file has the clock and the log, and translates observations of turns; `SharedIncidents` translates
 * rows, and `Deliveries` sends what is in the outbox. A turn reports its facts and continues: a fiber writes them to the database. A notice of quiet hours is due at their end.
 *
 * The beginning and the end of an incident are logged by the runner that has found them, with receivers or without. `TurnLog` logs failed
 * turns.
 *
 * Notifications.N2. A transition and its notices are one transaction, over all runners of a database, so none is lost and none is made
 *     twice. The id of a notice follows from its incident or cause. A process that is killed loses the facts of its last moments; the turns
 *     that failed then are uncounted in the database (`IncidentStates.S2`), and are counted by the next process or another runner.
 * Notifications.N3. Each receiver gets the notices in order and does not wait for another receiver.
 */
import type { StorageError, Timer } from "@holdfast/journal"
import type { Observer } from "@holdfast/kernel"
import { Failure, type Ids } from "@holdfast/wire"
import { Clock, Context, Duration, Effect, Metric, Queue } from "effect"
import * as NoticeMessages from "../../delivery/NoticeMessages.ts"
import type { Decide, FailedTurn, IncidentStates } from "../../../storage/IncidentStates.ts"
import type { Outbox } from "../../../storage/Outbox.ts"
import * as Incidents from "./Incidents.ts"
import type { NoticeFailure, Notice } from "./Notice.ts"
import * as FailedTurnLog from "../logs/FailedTurnLog.ts"
import * as NoticeText from "./NoticeText.ts"
import * as SharedIncidents from "./SharedIncidents.ts"
import * as QuestionNotice from "../../delivery/QuestionNotice.ts"

/** The limits. */
interface Options {
  readonly after: Duration.Duration
  readonly timer: Timer.Timer["Service"]
  readonly redact: (text: string) => string
  /** There are receivers: incidents are kept in the database, once `keep` runs. */
  readonly isKept: boolean
}

/** The database, and who reads it. */
interface KeepOptions {
  readonly storage: IncidentStates["Service"]
  readonly receivers: NoticeMessages.Receivers
  /** Names this process in the database; the same after a restart if it is the only one. */
  readonly runner: string
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
const INTERVAL = "5 seconds"

/** A turn that failed so long ago gets no notice of its cause: notices were off, as a rule. */
const OLDEST_MS = 7 * 86_400_000

/** Turns of other processes that are counted at once. */
const MOST_LEFT = 1_000

/** How long a shutdown waits for the disk. */
const LAST_WORDS = "2 seconds"

/** Gauge of open incidents. */
export const openIncidents = Metric.gauge("holdfast_incidents_open", {
  description:
    "Endpoints that turns of this process wait for and that have answered nobody for longer than telemetry.notifications.after."
})

/** Makes the listeners of turns. */
export const make = Effect.fnUntraced(function* ({ after, isKept, redact, timer }: Options) {
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const afterMs = Duration.toMillis(after)
  const log = Effect.runSyncWith(context)
  const bell = yield* Queue.sliding<void>(1)
  /** The state in the database, and the inputs that are not in it yet. */
  let written: Incidents.IncidentState = { ...Incidents.empty, isKept }
  let inputs: Array<Incidents.Fact> = []
  /** The state with these inputs. */
  let state = written

  const countOpen = (): void => {
    openIncidents.updateUnsafe(Incidents.openCount(state, clock.currentTimeMillisUnsafe()), context)
  }

  /** When the alarm goes off, in epoch milliseconds. */
  let alarmAt: number | undefined
  let cancelAlarm = () => {}
  const setAlarm = (): void => {
    const due = Incidents.dueAt(state, afterMs)
    if (due === alarmAt) return
    cancelAlarm()
    alarmAt = due
    if (due === undefined) return
    cancelAlarm = timer.at(due, () => {
      alarmAt = undefined
      record({ _tag: "Passed", at: clock.currentTimeMillisUnsafe() })
    })
  }

  const logNotices = (notices: ReadonlyArray<Notice>): void => {
    for (const notice of notices) {
      if (notice.type !== "turns-failed") log(Effect.logInfo(NoticeText.textOf(notice)))
    }
  }

  const record = (input: Incidents.Fact): void => {
    const [next, notices] = Incidents.record(state, input, afterMs)
    if (next === state) return
    const isChanged = next.troubles !== state.troubles || next.causes !== state.causes
    state = next
    if (isKept) inputs.push(input)
    if (!isChanged) return
    countOpen()
    setAlarm()
    if (!isKept) return logNotices(notices)
    // The end of a turn is not lost if the process dies soon; the database decides on notices.
    if (notices.length > 0 || input._tag === "Sealed") Queue.offerUnsafe(bell, undefined)
  }

  /** Questions that turns of this process ask, and that are not in the outbox yet. */
  let questions: Array<QuestionNotice.Question> = []
  const onEvent: Observer.Listeners["event"] = ({ event }) => {
    if (event.type !== "provider-retry" || event.asks === undefined || questions.length >= MOST_KEPT) return
    questions.push({ event, asks: event.asks })
    Queue.offerUnsafe(bell, undefined)
  }

  /** Shares incidents through the database while the scope lives, beginning with those that are in it. */
  const keep = Effect.fnUntraced(function* ({ add, origin, receivers, runner, storage }: KeepOptions) {
    /** Writes a notice of each question. A process that is killed before that loses the notice; the report has the question. */
    const ask = Effect.suspend(() => {
      const taken = questions.slice()
      if (taken.length === 0) return Effect.void
      const options = { after, origin, receivers, redact }
      const messages = taken.flatMap((question) => QuestionNotice.messagesOf(question, options))
      return Effect.map(add(messages), () => void (questions = questions.slice(taken.length)))
    })
    /** The incidents that end if no turn is at their endpoints, with the answers of the database (Incidents.I4). */
    const askedAt = (at: number) =>
      Effect.forEach(Incidents.unanswered(state, at), ({ since, target }) =>
        Effect.map(storage.hasOpenTurn(target), (hasOpenTurn): Incidents.Fact => ({
          _tag: "Asked",
          target,
          since,
          hasOpenTurn,
          at
        }))
      )
    const flush = Effect.fnUntraced(function* (isLeaving: boolean): Effect.fn.Return<void, StorageError> {
      yield* ask
      const now = yield* Clock.currentTimeMillis
      const reader = { now, runner }
      const taken = inputs.slice()
      const own = new Set(taken.flatMap(failedIn))
      const left = yield* storage.uncounted(now - OLDEST_MS, now - SharedIncidents.ALIVE_MS, MOST_LEFT)
      const lost = left.filter(({ end }) => !own.has(end.turnId)).map((turn) => ofFailed(turn, redact))
      const turns = [...own, ...lost.flatMap(failedIn)]
      const asked = yield* askedAt(now)
      let next = written
      let notices: ReadonlyArray<Notice> = []
      const decide: Decide = (rows, counted) => {
        const passed: Incidents.Fact = { _tag: "Passed", at: now }
        const facts = [...lost, ...taken].map((input) => uncountedBy(input, counted))
        const folded = fold(SharedIncidents.adopt(written, rows, reader), [...facts, ...asked, passed], afterMs)
        next = folded.state
        notices = folded.notices
        // Notifications.N3
        const messages = notices.flatMap((notice) =>
          NoticeMessages.of(receivers, "notices", NoticeText.bodyOf(notice), now)
        )
        return { ...SharedIncidents.changes(next, rows, reader, isLeaving), messages }
      }
      const { messages, removed, rows } = decide(yield* storage.load, new Set(turns))
      const isChange = messages.length + removed.length + rows.length + turns.length > 0
      if (isChange) yield* storage.change(decide, turns) // Notifications.N2
      written = next
      inputs = inputs.slice(taken.length)
      state = fold(written, inputs, afterMs).state
      logNotices(notices)
      countOpen()
      setAlarm()
    })
    let isRefused = false
    const flushed = (isLeaving: boolean): Effect.Effect<boolean> =>
      flush(isLeaving).pipe(
        Effect.map(() => {
          isRefused = false
          return true
        }),
        Effect.catchTag("StorageError", ({ message }) =>
          Effect.suspend(() => {
            const said = isRefused ? Effect.void : Effect.logError(`Incidents are not recorded for now. ${message}`)
            isRefused = true
            return Effect.as(said, false)
          })
        )
      )
    let isFresh = yield* flushed(false)
    yield* Effect.addFinalizer(() => Effect.timeoutOption(flushed(true), LAST_WORDS))
    const next = Effect.gen(function* () {
      yield* isFresh ? Effect.timeoutOption(Queue.take(bell), INTERVAL) : Effect.sleep(INTERVAL)
      isFresh = yield* flushed(false)
    })
    yield* Effect.forkScoped(Effect.forever(next))
  })

  countOpen()
  yield* Effect.addFinalizer(() => Effect.sync(() => cancelAlarm()))
  const incidents = listenersOf(record, redact)
  /** What turns report to. */
  const listeners: Observer.Listeners = isKept ? { ...incidents, event: onEvent } : incidents
  return { listeners, keep }
})

/** Questions that are kept while the database is away. */
const MOST_KEPT = 10_000

// --- internal

/** The listeners of turns that call `record` with each input. `redact` removes secrets from messages. */
const listenersOf = (record: (input: Incidents.Fact) => void, redact: (text: string) => string): Observer.Listeners => {
  const said = saidBy(redact)
  return {
    attempt: ({ conversationId, outcome, target }) => {
      // An invalid response is an answer of the endpoint all the same (A9).
      const isAnswer = outcome._tag === "Completed" || (outcome._tag === "Failed" && outcome.whole === true)
      if (isAnswer) record({ _tag: "Answered", conversationId, target, at: outcome.endedAt })
    },
    decision: ({ at, conversationId, directive, failure, target }) => {
      if (directive._tag !== "Retry") return
      // A turn that switches to another endpoint at once does not wait. A turn at a limit of spending waits for a person.
      if (directive.delayMs <= 0 || Failure.isOfSpendLimit(failure))
        return record({ _tag: "WentOn", conversationId, at })
      record({
        _tag: "Waits",
        conversationId,
        target: directive.route?.target ?? target,
        said: said(failure),
        until: directive.retryAt,
        at
      })
    },
    wait: ({ at, conversationId, wake }) => {
      if (wake.type === "switched") record({ _tag: "WentOn", conversationId, at })
      if (wake.type === "until") record({ _tag: "Postponed", conversationId, until: wake.until, at })
    },
    seal: ({ conversationId, end, target }) => record(sealed({ conversationId, target, end }, said)),
    moved: ({ at, conversationId }) => record({ _tag: "Moved", conversationId, at })
  }
}

/** The input of a turn that has failed in a process that did not count it. */
const ofFailed = (turn: FailedTurn, redact: (text: string) => string): Sealed => sealed(turn, saidBy(redact))

type Sealed = Extract<Incidents.Fact, { _tag: "Sealed" }>

const sealed = (
  { conversationId, end: { endedAt: at, error, status, turnId }, target }: FailedTurn,
  said: (failure?: Failure.Failure) => NoticeFailure
): Sealed => {
  const cause = status === "failed" ? said(error) : undefined
  return { _tag: "Sealed", conversationId, turnId, target, status, at, said: cause }
}

/** In an outage the same message repeats: it is redacted once. */
const saidBy = (redact: (text: string) => string): ((failure?: Failure.Failure) => NoticeFailure) => {
  let last: { readonly failure: Failure.Failure; readonly said: NoticeFailure } | undefined
  return (failure) => {
    if (failure === undefined) return FailedTurnLog.errorOf(undefined, redact)
    if (last === undefined || !isSame(last.failure, failure))
      last = { failure, said: FailedTurnLog.errorOf(failure, redact) }
    return last.said
  }
}

const isSame = (a: Failure.Failure, b: Failure.Failure): boolean =>
  a.message === b.message && a.reason === b.reason && Failure.codeOf(a) === Failure.codeOf(b)

const fold = (before: Incidents.IncidentState, inputs: ReadonlyArray<Incidents.Fact>, afterMs: number) => {
  let state = before
  const notices: Array<Notice> = []
  for (const input of inputs) {
    const [next, more] = Incidents.record(state, input, afterMs)
    state = next
    notices.push(...more)
  }
  return { state, notices }
}

/** The turn of an input that has failed. */
const failedIn = (input: Incidents.Fact): ReadonlyArray<Ids.TurnId> =>
  input._tag === "Sealed" && input.said !== undefined && input.turnId !== undefined ? [input.turnId] : []

/** The input without the failure of a turn that another runner has counted. */
const uncountedBy = (input: Incidents.Fact, counted: ReadonlySet<Ids.TurnId>): Incidents.Fact =>
  input._tag !== "Sealed" || failedIn(input).every((turnId) => counted.has(turnId))
    ? input
    : { ...input, said: undefined }
