/**
 * Writes accepted turns, with their first events.
 *
 * A turn that runs at once has its first events written in the transaction that accepts it: one sync of the disk less before its
 * provider is called.
 */
import type { TableError } from "@holdfast/journal/sql"
import { type Ids, LongJson } from "@holdfast/wire"
import { type Array as Arr, Effect } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { SqlClient } from "effect/sql"
import * as ConversationTable from "../tables/ConversationTable.ts"
import * as EventTable from "../tables/EventTable.ts"
import * as EventText from "../tables/EventText.ts"
import { type Acceptance, openingOf as firstEventsOf, type StoredEvent, type Turn } from "../Store.ts"
import * as LabelTable from "../tables/LabelTable.ts"
import * as Outbox from "../Outbox.ts"
import * as TurnTable from "../tables/TurnTable.ts"

/** A turn to accept, and the first of its events, encoded. */
export interface Arrival {
  readonly turn: TurnTable.NewTurn
  /** Its first events; absent: they are written later. */
  readonly opening: EventTable.Opening | undefined
  /** No turn has its id yet. */
  readonly isNew: boolean
}

/** The first events of a turn, with their texts. */
export const openingOf = (turn: TurnTable.NewTurn): Effect.Effect<EventTable.Opening> => {
  const events = firstEventsOf(turn)
  const rows = EventTable.rowsOf(turn)
  if (EventText.isKeptWhole(rows)) {
    const opening = Effect.sync(() =>
      events.map((event) => ({ event, json: EventText.opened(event, rows), payload: "" }))
    )
    // 30 MB take some 50 ms here, as much as their decoding before and their write after this.
    return LongJson.isLong(rows.content ?? rows.prompt ?? "")
      ? Effect.andThen(
          Effect.yieldNow,
          Effect.tap(opening, () => Effect.yieldNow)
        )
      : opening
  }
  return Effect.forEach(events, (event) =>
    Effect.map(LongJson.stringify(event), (json) => ({ event, json, payload: EventText.pack(json, event, rows) }))
  )
}

/** Records turns whose ids are free, with their openings, and returns each turn's outcome. Of two turns of a group with one id the first gets it. */
export const accept =
  (sql: SqlClient.SqlClient) =>
  (arrivals: Arr.NonEmptyReadonlyArray<Arrival>): Effect.Effect<ReadonlyArray<Acceptance>, TableError> =>
    Effect.gen(function* () {
      const ids = arrivals.flatMap(({ isNew, turn }) => (isNew ? [] : [turn.turnId]))
      const found = ids.length === 0 ? [] : yield* TurnTable.findAll(sql, ids)
      const known = new Map<Ids.TurnId, Turn>(found.map((turn) => [turn.turnId, turn]))
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
      return arrivals.map(({ turn }, i) => answers[i] ?? accepted(openings.get(turn.turnId)))
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
  const numbers = yield* TurnTable.insert(sql, turns, tails)
  const labelled = turns.filter(({ labels }) => labels !== undefined)
  yield* LabelTable.insert(
    sql,
    "turn",
    labelled.map(({ labels, turnId }) => ({ number: numbers.get(turnId) ?? 0, labels }))
  )
  yield* Outbox.addOfTurns(
    sql,
    turns.flatMap(({ conversationId, notify = [], turnId }) =>
      notify.map((receiver) => ({
        turn: numbers.get(turnId) ?? 0,
        id: `turn-end/${turnId}/${receiver}`,
        lane: `turn-end/${conversationId}/${receiver}`,
        receiver
      }))
    )
  )
  return yield* EventTable.open(sql, arrivals, tails, numbers)
})

const accepted = (opening: ReadonlyArray<StoredEvent> | undefined): Acceptance =>
  opening === undefined ? { _tag: "Accepted" } : { _tag: "Accepted", opening }

const isSame = (known: TurnTable.NewTurn, turn: TurnTable.NewTurn): boolean =>
  known.conversationId === turn.conversationId &&
  (known.content === undefined && turn.content === undefined
    ? known.prompt === turn.prompt
    : isDeepStrictEqual(known.content, turn.content))
