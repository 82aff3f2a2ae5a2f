/**
 * Reads stored turns for clients: their states (X15), explanations (X9) and courses.
 *
 * No turn is woken and no owner is asked: any process that shares the database can read a turn that another one runs. Clients poll
 * states, so what a state does not give is not read: prompts of turns that have begun, results of tools, and all answers but the last.
 *
 * StoredTurns.R1. The row of a turn is read first: a turn that seals meanwhile appears as it was before.
 * StoredTurns.R2. Its conversation is read last. A conversation is deleted as a whole, so all that was read before belongs together if it
 *     still exists, and there is no such turn if it does not.
 */
import { Interruptions, type StorageError } from "@holdfast/journal"
import { defined, Failure, type Ids, TurnCourse, type TurnExplanation } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { Config } from "../../config/Config.ts"
import { ConversationNotFound, TurnNotFound } from "../../engine/conversation/Conversations.ts"
import { Secrets } from "../../config/redaction/Secrets.ts"
import { TurnLog } from "../../storage/TurnLog.ts"
import { Lists } from "../../storage/Lists.ts"
import { Store } from "../../storage/Store.ts"
import type { Turn } from "../../storage/Stored.ts"
import * as Explanation from "./Explanation.ts"
import * as TurnReport from "./TurnReport.ts"

/** Stored turns, for clients of the service. */
export class StoredTurns extends Context.Service<StoredTurns, Effect.Success<typeof make>>()(
  "@holdfast/session-orchestrator/inspection/StoredTurns"
) {}

/** Turns that are read at once for their courses. */
const AT_ONCE = 8

const make = Effect.gen(function* () {
  const { prices } = yield* Config
  const store = yield* Store
  const log = yield* TurnLog
  const lists = yield* Lists
  const interruptions = yield* Interruptions.Interruptions
  const { redact } = yield* Secrets
  const whole = reader(store, ({ acceptedAt, turnId }) =>
    Effect.all({
      events: eventsBy(store.turnEvents(turnId)),
      records: log.load(turnId),
      interruption: Effect.map(interruptions.find(turnId), Option.getOrUndefined),
      deaths: store.deaths(acceptedAt)
    })
  )
  const outline = reader(store, ({ turnId }) =>
    Effect.all({ events: eventsBy(store.turnDigest(turnId)), records: log.load(turnId) })
  )
  const digest = reader(store, ({ turnId }) =>
    Effect.all({ events: eventsBy(store.turnDigest(turnId)), records: store.recordOutline(turnId) })
  )
  return {
    /** The conversation of a turn. */
    conversationOf: Effect.fnUntraced(function* (turnId: Ids.TurnId) {
      const turn = Option.getOrUndefined(yield* store.turn(turnId))
      return turn === undefined ? yield* new TurnNotFound({ turnId }) : turn.conversationId
    }),
    /** The newest turn of a conversation; none before the first, and for an unknown conversation. */
    newestOf: (id: Ids.ConversationId) => Effect.map(store.lastTurn(id), (turn) => Option.getOrUndefined(turn)?.turnId),
    /** The state of a turn in any conversation. A parked turn is not woken. */
    find: Effect.fn("StoredTurns.find")(function* (turnId: Ids.TurnId) {
      const found = yield* digest(turnId)
      if (found === undefined) return yield* new TurnNotFound({ turnId })
      const state = TurnReport.ofStored(found, redact, prices)
      const prompt = state.status === "queued" ? yield* store.prompt(turnId) : undefined
      return { ...state, ...defined({ prompt }), ...(yield* lists.labelsOf(turnId)) }
    }),
    /** The courses of turns until now, without those that are not known. */
    courses: Effect.fn("StoredTurns.courses")(function* (turnIds: ReadonlyArray<Ids.TurnId>) {
      const deaths = yield* store.deaths(0)
      const found = yield* Effect.forEach(turnIds, outline, { concurrency: AT_ONCE })
      const now = yield* Clock.currentTimeMillis
      return found.flatMap((turn) =>
        turn === undefined ? [] : [courseOf(Explanation.of({ ...turn, deaths }, redact), now)]
      )
    }),
    /** Explains a turn of a conversation until now. */
    explain: Effect.fn("StoredTurns.explain")(function* (conversationId: Ids.ConversationId, turnId: Ids.TurnId) {
      const found = yield* whole(turnId)
      if (found?.turn.conversationId === conversationId) return Explanation.of(found, redact)
      const conversation = yield* store.conversation(conversationId)
      return yield* Option.isNone(conversation)
        ? new ConversationNotFound({ conversationId })
        : new TurnNotFound({ conversationId, turnId })
    })
  }
})

/** Over what is on disk. */
export const layer = Layer.effect(StoredTurns, make)

/** Reads the row and the conversation of a turn, and `more` between them; `undefined`: there is no such turn. */
const reader = <A extends object>(source: Store["Service"], more: (turn: Turn) => Effect.Effect<A, StorageError>) =>
  Effect.fnUntraced(function* (turnId: Ids.TurnId) {
    const turn = Option.getOrUndefined(yield* source.turn(turnId)) // StoredTurns.R1
    if (turn === undefined) return undefined
    const read = yield* more(turn)
    const conversation = Option.getOrUndefined(yield* source.conversation(turn.conversationId)) // StoredTurns.R2
    return conversation && { ...read, turn, conversation }
  })

/** The course of a turn until `now`: its attempts and waits as spans of time. */
export const courseOf = (
  { acceptedAt, seal, steps, turnId }: TurnExplanation.TurnExplanation,
  now: number
): TurnCourse.TurnCourse => {
  const attempts: Array<TurnCourse.CourseAttempt> = []
  const latest = seal?.endedAt ?? now
  let at = acceptedAt
  for (const { attempts: made, step, tools } of steps) {
    for (const explained of made) {
      const attempt = attemptOf(explained, step, at, seal?.endedAt)
      attempts.push(attempt)
      // The spans of a clock that was set back would overlap.
      at = Math.max(at, attempt.wait?.to ?? attempt.to ?? latest)
    }
    at = Math.max(at, ...tools.map(({ endedAt = 0 }) => endedAt))
  }
  const shown = attempts.slice(-TurnCourse.MOST_ATTEMPTS)
  return { turnId, attempts: shown, omitted: attempts.length - shown.length }
}

// --- internal

const eventsBy = (read: ReturnType<Store["Service"]["turnEvents"]>) =>
  Effect.map(read, (stored) => stored.map(({ event }) => event))

const attemptOf = (
  explained: TurnExplanation.ExplainedAttempt,
  step: number,
  from: number,
  sealedAt: number | undefined
): TurnCourse.CourseAttempt => {
  const { attempt, failure, outcome, target } = explained
  const end = explained.endedAt ?? sealedAt
  const to = end === undefined ? undefined : Math.max(from, end)
  const ofFailure = outcome === "failed" && failure?.shared === true ? "shared" : outcome
  return {
    step,
    attempt,
    target,
    from,
    ...defined({ to }),
    outcome: ofFailure === "completed" ? "answered" : ofFailure,
    ...defined({ code: failure && Failure.codeOf(failure), wait: waitOf(explained, to ?? from) })
  }
}

const waitOf = (
  { decision, wait }: TurnExplanation.ExplainedAttempt,
  from: number
): TurnCourse.CourseWait | undefined => {
  if (wait === undefined || decision?.type !== "retry") return undefined
  const { deaths, end, retryAt } = wait
  return {
    from,
    // Older records lack the time of an end; an answered question has moved the end.
    to: Math.max(from, end?.at ?? retryAt),
    ...defined({ end: end?.type, deaths: deaths?.map(({ at }) => at) })
  }
}
