/**
 * Writes accepted turns, with their first events.
 *
 * A turn that runs at once has its first events written in the transaction that accepts it: one sync of the disk less before its
 * provider is called.
 */
import type { TableError } from "@holdfast/journal/sql"
import { defined, type Ids } from "@holdfast/wire"
import { type Array as Arr, Effect } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { SqlClient } from "effect/sql"
import * as ConversationTable from "../tables/ConversationTable.ts"
import * as EventTable from "../tables/EventTable.ts"
import type { Acceptance, StoredEvent, Turn } from "../Stored.ts"
import * as LabelTable from "../tables/LabelTable.ts"
import * as Outbox from "../Outbox.ts"
import * as TurnTable from "../tables/TurnTable.ts"

/** A turn to accept, and the first of its events, encoded. */
export interface Arrival {
  readonly turn: TurnTable.NewTurn
  /** Its first events; absent: they are written later. */
  readonly opening: ReadonlyArray<EventTable.EncodedEvent> | undefined
  /** No turn has its id yet. */
  readonly isNew: boolean
}

/** Records turns whose ids are free, with their openings, and returns each turn's outcome. Of two turns of a group with one id the first gets it. */
export const accept =
  (sql: SqlClient.SqlClient) =>
  (arrivals: Arr.NonEmptyReadonlyArray<Arrival>): Effect.Effect<ReadonlyArray<Acceptance>, TableError> =>
    Effect.gen(function* () {
      const ids = arrivals.flatMap(({ isNew, turn }) => (isNew ? [] : [turn.turnId]))
      const known = new Map<Ids.TurnId, Turn>(ids.length === 0 ? [] : yield* TurnTable.findWhole(sql, ids))
      const answers = arrivals.map(({ turn }): Acceptance | undefined => {
        const first = known.get(turn.turnId)
        if (first !== undefined) return { _tag: isSame(first, turn) ? "Known" : "Conflict", turn: first }
        known.set(turn.turnId, { ...turn, end: undefined })
        return undefined
      })
      const openings = yield* add(
        sql,
        arrivals.filter((_, i) => answers[i] === undefined)
      )
      return arrivals.map(
        ({ turn }, i) => answers[i] ?? { _tag: "Accepted", ...defined({ opening: openings.get(turn.turnId) }) }
      )
    })

// --- internal

/** Writes new turns, and returns the events of the turns that have an opening. */
const add = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  arrivals: ReadonlyArray<Arrival>
): Effect.fn.Return<ReadonlyMap<Ids.TurnId, ReadonlyArray<StoredEvent>>, TableError> {
  if (arrivals.length === 0) return new Map()
  const turns = arrivals.map(({ turn }) => turn)
  const tails = yield* ConversationTable.tails(
    sql,
    turns.map(({ conversationId }) => conversationId)
  )
  const ends = yield* TurnTable.insert(sql, turns, tails)
  const numberOf = (turnId: Ids.TurnId): number => ends.get(turnId)?.number ?? 0
  yield* LabelTable.insert(
    sql,
    "turn",
    turns.map(({ labels, turnId }) => ({ number: numberOf(turnId), labels }))
  )
  yield* Outbox.addOfTurns(
    sql,
    turns.flatMap(({ conversationId, notify = [], turnId }) =>
      notify.map((receiver) => ({
        turn: numberOf(turnId),
        id: `turn-end/${turnId}/${receiver}`,
        lane: `turn-end/${conversationId}/${receiver}`,
        receiver
      }))
    )
  )
  const openings = arrivals.flatMap(({ opening: events, turn: { turnId } }) =>
    events === undefined ? [] : [{ turnId, position: 0, events }]
  )
  const opened = yield* EventTable.append(sql)(openings, ends, new Map(turns.map((turn) => [turn.turnId, turn])))
  return new Map(openings.map(({ turnId }, i) => [turnId, opened[i] ?? []]))
})

const isSame = (known: TurnTable.NewTurn, turn: TurnTable.NewTurn): boolean =>
  known.conversationId === turn.conversationId &&
  (known.content === undefined && turn.content === undefined
    ? known.prompt === turn.prompt
    : isDeepStrictEqual(known.content, turn.content))
