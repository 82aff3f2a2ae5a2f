/** A database of schema version 5, with turns that had ended, waited and queued, and its expected contents. */
import { expect } from "@effect/vitest"
import { Turn } from "@holdfast/kernel"
import { type TurnEvent } from "@holdfast/wire"
import { Effect, Option, Stream } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import * as Migrations from "../../src/storage/migrations/Migrations.ts"
import { Journal } from "../../src/storage/EventJournal.ts"
import { migration as initial } from "../../src/storage/migrations/0001_initial.ts"
import { migration as fewerRows } from "../../src/storage/migrations/0002_fewer_rows.ts"
import { migration as standings } from "../../src/storage/migrations/0003_standings.ts"
import { migration as gates } from "../../src/storage/migrations/0004_gates.ts"
import { migration as writers } from "../../src/storage/migrations/0005_writers.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"

const versions = {
  "0001_initial": initial,
  "0002_fewer_rows": fewerRows,
  "0003_standings": standings,
  "0004_gates": gates,
  "0005_writers": writers
}

const openingOf = (n: number, of: number) => {
  const { acceptedAt: startedAt, prompt = "", ...identity } = NumberedData.turn(n, of)
  return Turn.firstEvents({ ...identity, startedAt, prompt })
}

/** Turn 1 of conversation 1 had ended, turn 2 waits behind it, turn 3 is queued; conversation 2 has a turn that was just accepted. */
const EVENTS: ReadonlyArray<readonly [n: number, events: ReadonlyArray<TurnEvent.PersistedEvent>]> = [
  [1, [...openingOf(1, 1), NumberedData.usage(1, 1, 0), NumberedData.message(1, 1, 1), NumberedData.end(1, 1)]],
  [2, openingOf(2, 1)]
]
const TURNS = [
  [1, 1],
  [2, 1],
  [4, 2],
  [3, 1]
] as const
const RECORDS = [
  { name: "step/0/attempt/0", value: '{"_tag":"Failed"}' },
  { name: "step/0/decision/0", value: '{"_tag":"Retry"}' }
]

/** Creates the database as that version did. */
export const write = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    yield* Migrator.make({})({ loader: Migrator.fromRecord(versions), table: Migrations.TABLE })
    // The other conversation is older, and its id sorts later.
    for (const [n, created_at] of [
      [1, 20],
      [2, 10]
    ] as const) {
      const { conversationId: conversation_id, model } = NumberedData.conversation(n)
      yield* sql`INSERT INTO conversations ${sql.insert({ conversation_id, model, auto_retry_enabled: 1, created_at })}`
    }
    for (const [n, of] of TURNS) {
      const {
        acceptedAt: accepted_at,
        conversationId: conversation_id,
        prompt = null,
        turnId
      } = NumberedData.turn(n, of)
      yield* sql`INSERT INTO turns ${sql.insert({ turn_id: turnId, conversation_id, prompt, accepted_at })}`
    }
    let event_id = 0
    for (const [n, events] of EVENTS) {
      const turn_id = NumberedData.turnId(n)
      for (const [position, event] of events.entries()) {
        const { conversationId: conversation_id, type } = event
        const row = { conversation_id, event_id: ++event_id, turn_id, position, type, payload: JSON.stringify(event) }
        yield* sql`INSERT INTO events ${sql.insert(row)}`
        if (type === "turn-end") yield* sql`UPDATE turns SET end_event_id = ${event_id} WHERE turn_id = ${turn_id}`
      }
    }
    for (const n of [2, 1]) {
      for (const [seq, record] of RECORDS.entries()) {
        yield* sql`INSERT INTO journal ${sql.insert({ turn_id: NumberedData.turnId(n), seq, ...record })}`
      }
    }
  }).pipe(Effect.provideService(SqlClient.SqlClient, sql))

/** Reads a store on it, and continues its turns. */
export const check = Effect.gen(function* () {
  const store = yield* Store
  const journal = yield* Journal
  const [one, two] = [NumberedData.conversationId(1), NumberedData.conversationId(2)]
  const stored = EVENTS.flatMap(([, events]) => events).map((event, i) => ({
    id: i + 1,
    event,
    json: JSON.stringify(event)
  }))
  const eventsOf = (of: typeof one) =>
    Effect.map(Stream.runCollect(store.events(of, 0)), (events) => Array.from(events))

  expect(yield* eventsOf(one)).toEqual(stored)
  expect(yield* eventsOf(two)).toEqual([])
  expect(yield* store.turnEvents(NumberedData.turnId(1))).toEqual(stored.slice(0, 5))
  expect(yield* store.turnEvents(NumberedData.turnId(2))).toEqual(stored.slice(5))
  expect(yield* store.turn(NumberedData.turnId(1))).toEqual(
    Option.some({ ...NumberedData.turn(1, 1), end: NumberedData.end(1, 1) })
  )
  expect(Option.map(yield* store.lastTurn(one), ({ turnId }) => turnId)).toEqual(Option.some(NumberedData.turnId(3)))
  expect(yield* journal.load(NumberedData.turnId(2))).toEqual(RECORDS)
  const unsealed = (n: number, of: number, tail?: (typeof RECORDS)[number]) => ({
    turnId: NumberedData.turnId(n),
    conversationId: NumberedData.conversationId(of),
    model: NumberedData.conversation(of).model,
    tail,
    records: tail === undefined ? 0 : RECORDS.length,
    interruption: undefined
  })
  expect(yield* store.unsealedTurns).toEqual([unsealed(2, 1, RECORDS[1]), unsealed(4, 2), unsealed(3, 1)])

  // The waiting turn continues, and ends; then the queued turn begins.
  const resumed = Option.getOrThrow(yield* store.resumption(NumberedData.turnId(2)))
  const before = stored.slice(0, 5).flatMap(({ event }) => (event.type === "message" ? [event.message] : []))
  expect(resumed.history).toEqual(before)
  expect(resumed.persisted).toEqual(["turn-start", "message"])
  yield* journal.append(NumberedData.turnId(2), 2, { name: "step/0/sleep/0", value: "{}" })
  const rest = [NumberedData.message(2, 1, 1), NumberedData.end(2, 1)] as const
  const said = yield* store.appendEvents(one, NumberedData.turnId(2), [...openingOf(2, 1), ...rest], 0)
  expect(said.map(({ id }) => id)).toEqual([6, 7, 8, 9])
  const begun = yield* store.appendEvents(one, NumberedData.turnId(3), openingOf(3, 1), 0)
  expect(begun.map(({ id, json }) => ({ id, json }))).toEqual(
    openingOf(3, 1).map((event, i) => ({ id: 10 + i, json: JSON.stringify(event) }))
  )
  expect((yield* store.acceptTurn(NumberedData.turn(1, 1)))._tag).toBe("Known")
  expect(yield* store.acceptTurn(NumberedData.turn(5, 2), { isOpened: true })).toMatchObject({
    opening: [{ id: 1 }, { id: 2 }]
  })
  expect((yield* store.unsealedTurns).map(({ turnId }) => turnId)).toEqual([4, 3, 5].map(NumberedData.turnId))
  expect((yield* journal.forget(NumberedData.end(1, 1).endedAt + 1, undefined)).forgotten).toBe(2)
})
