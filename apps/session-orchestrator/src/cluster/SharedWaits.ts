/**
 * The waits of held calls of runners that share a PostgreSQL (`HeldWaits`): found in the database, claimed by locks.
 *
 * SharedWaits.S1. Every call is looked up before its first attempt: its client may have left it at another runner.
 * SharedWaits.S2. A client that left one runner may ask another before the first one has noticed: a claim is asked for again for a moment
 *     (`Claims.takeFirst`). The same call beside some that have their clients waits so long once.
 * SharedWaits.S3. Each runner looks for waits without a client once in `SWEEP`, those of dead runners too, and ends those that it has seen so for
 *     `KEPT_MS`.
 */
import type { StorageError } from "@holdfast/journal"
import { StorageFailure, type TableError } from "@holdfast/journal/sql"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Clock, Effect, Schedule, type Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type HeldWaits, KEPT_MS, type Known, type Sought, type Wait } from "../engine/orchestrator/HeldWaits.ts"
import type { HeldTurns } from "../engine/orchestrator/HeldTurns.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import * as Claims from "./Claims.ts"
import * as TurnTable from "../storage/tables/TurnTable.ts"

/** Between two looks at all waits. */
const SWEEP = "1 minute"

/** What it works with. */
interface Dependencies {
  readonly sql: SqlClient.SqlClient
  /** Names the database in errors. */
  readonly database: string
  readonly turns: Pick<HeldTurns["Service"], "conversations">
  /** Whether a call has its client at this runner. */
  readonly isHere: (id: Ids.ConversationId) => boolean
}

/** The waits, as long as the scope is open. */
export const make = Effect.fnUntraced(function* ({
  database,
  isHere,
  sql,
  turns
}: Dependencies): Effect.fn.Return<HeldWaits, never, Scope.Scope> {
  const claims = yield* Claims.make(sql)
  const failed = <A>(what: string, effect: Effect.Effect<A, TableError>): Effect.Effect<A, StorageError> =>
    Effect.mapError(effect, (error) => StorageFailure.explain(database, what, error))
  /** A claim that cannot be changed is no reason to end a call. */
  const quietly = (effect: Effect.Effect<unknown, SqlError.SqlError>): Effect.Effect<void> =>
    Effect.catch(Effect.asVoid(effect), (error) =>
      Effect.logWarning(
        `A held call could not be claimed: ${StorageFailure.explain(database, "lock it", error).message}`
      )
    )

  const find = Effect.fnUntraced(function* (of: () => Sought): Effect.fn.Return<Known | undefined, TableError> {
    const { isRenewable, key } = of()
    const now = yield* Clock.currentTimeMillis
    const known = yield* turnsOfCall(sql, key.slice(0, HeldCallIds.CALL_LENGTH), now - KEPT_MS)
    const isOwn = ({ conversationId }: CallTurn) => HeldCallIds.read(conversationId)?.key === key
    const turns = known.filter((turn) => isOwn(turn) || (isRenewable && turn.end === undefined))
    const gaveUp = turns.findIndex(({ end }) => end?.error !== undefined)
    // An answered call may have an older twin without a client.
    const open = (gaveUp === -1 ? turns : turns.slice(0, gaveUp)).filter(
      ({ conversationId, end }) => end === undefined && !isHere(conversationId)
    )
    const ours = yield* Claims.takeFirst(claims, open) // SharedWaits.S2
    if (ours !== undefined) return { _tag: "Left", wait: { ...ours, key } }
    const { end, turnId } = turns[gaveUp] ?? {}
    return turnId === undefined || end?.error === undefined
      ? undefined
      : { _tag: "GaveUp", key, turnId, failure: end.error }
  })

  /** When each wait was first seen without a client, in epoch milliseconds. */
  const seen = new Map<Ids.ConversationId, number>()
  const sweep = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const waits = new Set(yield* failed("read the calls that wait", openCalls(sql)))
    for (const id of seen.keys()) if (!waits.has(id)) seen.delete(id)
    if (waits.size === 0) return
    const isClaimed = yield* failed("look at the locks", claims.read)
    for (const id of waits) {
      if (isHere(id) || isClaimed(id)) {
        seen.delete(id)
        continue
      }
      const since = seen.get(id) ?? now
      seen.set(id, since)
      if (now - since < KEPT_MS || !(yield* failed("lock a call", claims.take(id)))) continue
      yield* Effect.ignore(turns.conversations.abort(id))
      yield* quietly(claims.release(id))
    }
  })
  yield* Effect.forkScoped(
    Effect.repeat(
      Effect.catch(sweep, ({ message }) =>
        Effect.logWarning(`Held calls without a client are looked for later: ${message}`)
      ),
      Schedule.spaced(SWEEP)
    )
  )

  const release = ({ conversationId }: Wait) => quietly(claims.release(conversationId))
  return {
    find: (of) => failed("look a call up", find(of)),
    taken: ({ conversationId }) => quietly(claims.take(conversationId)),
    left: release,
    ended: release
  }
})

/** The conversations of the held calls that have not ended. */
export const openCalls = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<Ids.ConversationId>, SqlError.SqlError> =>
  Effect.map(
    sql<Pick<Row, "conversationId">>`
      SELECT c.conversation_id AS "conversationId" FROM turns t JOIN conversations c ON c.number = t.conversation
      WHERE t.end_event_id IS NULL AND c.conversation_id LIKE 'holdfast-call-%'`,
    (rows) => rows.map(({ conversationId }) => conversationId)
  )

// --- internal

/** A turn of a held call. */
interface CallTurn {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** Absent: it has not ended. */
  readonly end: TurnEvent.TurnEnd | undefined
}

/** The turns of a call with any login, newest first: those that have not ended, and those that ended since a moment in epoch milliseconds. */
const turnsOfCall = (
  sql: SqlClient.SqlClient,
  call: string,
  since: number
): Effect.Effect<ReadonlyArray<CallTurn>, TableError> =>
  Effect.flatMap(
    sql<Row>`
      SELECT c.conversation_id AS "conversationId", t.turn_id AS "turnId", e.payload
      FROM conversations c
      JOIN turns t ON t.conversation = c.number
      LEFT JOIN events e ON e.conversation = t.conversation AND e.event_id = t.end_event_id
      WHERE c.conversation_id LIKE 'holdfast-call-%' AND substr(c.conversation_id, 1, 25) = ${HeldCallIds.PREFIX + call}
        AND (t.end_event_id IS NULL OR t.ended_at >= ${since})
      ORDER BY t.number DESC`,
    Effect.forEach(({ payload, ...ids }) =>
      Effect.map(payload === null ? Effect.undefined : TurnTable.endOf(payload, ids), (end) => ({ ...ids, end }))
    )
  )

interface Row extends Pick<CallTurn, "conversationId" | "turnId"> {
  readonly payload: string | null
}
