/** Tests the laws of every `Lists`, over any database, and that each page is read by an index. */
import { expect, it } from "@effect/vitest"
import type { Journal, StorageError } from "@holdfast/journal"
import { Target, type TurnEvent } from "@holdfast/wire"
import type { Records } from "@holdfast/kernel"
import { GivenRecords } from "@holdfast/kernel/testing"
import { Clock, Effect, type Layer, Option } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import * as fc from "fast-check"
import * as TurnReport from "../../src/insight/inspection/TurnReport.ts"
import * as PeriodReports from "../../src/insight/inspection/period/PeriodReports.ts"
import * as TurnUse from "../../src/engine/spend/TurnUse.ts"
import { AnsweredCalls } from "../../src/storage/AnsweredCalls.ts"
import { TurnLog } from "../../src/storage/TurnLog.ts"
import { Lists } from "../../src/storage/Lists.ts"
import type { Page, Position, TurnFilter } from "../../src/storage/ListPage.ts"
import { Store } from "../../src/storage/Store.ts"
import * as ConversationListTable from "../../src/storage/tables/ConversationListTable.ts"
import * as EventTable from "../../src/storage/tables/EventTable.ts"
import * as Outbox from "../../src/storage/Outbox.ts"
import * as SealTable from "../../src/storage/tables/SealTable.ts"
import * as TurnTable from "../../src/storage/tables/TurnTable.ts"
import * as TurnListTable from "../../src/storage/tables/TurnListTable.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"
import * as It from "../It.ts"

type Storage = Store | Lists | TurnLog | AnsweredCalls | SqlClient.SqlClient

/** A turn of the model that the database is compared with. */
interface Kept {
  readonly n: number
  readonly of: number
  readonly acceptedAt: number
  readonly end?: { readonly status: TurnEvent.TurnStatus; readonly endedAt: number } | undefined
  /** The model that an earlier turn has moved to. */
  readonly begunAt?: string | undefined
  /** Where it went instead. */
  readonly changedTo?: string | undefined
  readonly tags?: ReadonlyArray<string>
  readonly records?: ReadonlyArray<Records.Stored>
}

const MODELS = ["anthropic/claude", "anthropic/claude-2", "openai/gpt"] as const

const modelOf = ({ begunAt, changedTo, of }: Kept): string => changedTo ?? begunAt ?? MODELS[of % MODELS.length] ?? ""

/** Times that come more than once: rows of one millisecond have an order too. */
const time = fc.integer({ min: 1, max: 6 })

const kept = fc.array(
  fc.record({
    of: fc.integer({ min: 0, max: 2 }),
    acceptedAt: time,
    end: fc.option(fc.record({ status: fc.constantFrom("completed", "failed", "aborted"), endedAt: time }), {
      nil: undefined
    }),
    begunAt: fc.option(fc.constantFrom("openai/gpt", "other/x%y", "openai/gpt/2"), { nil: undefined }),
    changedTo: fc.option(fc.constantFrom("openai/gpt", "other/x_y"), { nil: undefined }),
    tags: fc.subarray(["nightly", "night", "team/ops"])
  }),
  { maxLength: 12 }
)

const ofOne: TurnFilter = { conversationId: NumberedData.conversationId(0) }

const filters = fc.record({
  status: fc.option(fc.constantFrom("completed", "failed", "open"), { nil: undefined }),
  since: fc.option(time, { nil: undefined }),
  model: fc.option(fc.constantFrom("anthropic", "anthropic/claude", "openai/gpt", "other/x%y"), { nil: undefined }),
  of: fc.constantFrom<TurnFilter>({ tag: "nightly" }, { tag: "none" }, ofOne, {})
})

const write = Effect.fnUntraced(function* (turns: ReadonlyArray<Kept>) {
  const store = yield* Store
  for (const of of [0, 1, 2]) {
    yield* store.createConversation(NumberedData.conversation(of, { model: MODELS[of] ?? "" }))
  }
  for (const turn of turns) yield* add(turn)
})

const add = Effect.fnUntraced(function* (turn: Kept) {
  const { acceptedAt, begunAt, changedTo, end, n, of, tags = [] } = turn
  const target = begunAt === undefined ? undefined : Target.parse(begunAt)
  const records = [
    ...(target === undefined ? [] : [{ name: "step/0/route", value: JSON.stringify({ route: { target } }) }]),
    ...(turn.records ?? [])
  ]
  yield* Logged.accept(NumberedData.turn(n, of, { acceptedAt, labels: { tags, metadata: { n } } }))
  const identity = { conversationId: NumberedData.conversationId(of), turnId: NumberedData.turnId(n) }
  const events: Array<TurnEvent.PersistedEvent> = [
    ...(changedTo === undefined
      ? []
      : [{ ...identity, type: "model-change" as const, from: begunAt ?? MODELS[of] ?? "", to: changedTo }]),
    ...(end === undefined ? [] : [{ ...NumberedData.end(n, of), ...end }])
  ]
  if (events.length + records.length > 0) yield* Logged.append(identity.turnId, 0, records, { events, position: 0 })
})

/** The turns that a filter means, in the order of their list. */
const meant = (turns: ReadonlyArray<Kept>, { conversationId, model, since, status, tag }: TurnFilter) => {
  const isOpen = status === "open"
  const at = ({ acceptedAt, end }: Kept) => (status === undefined || isOpen ? acceptedAt : (end?.endedAt ?? 0))
  return turns
    .filter((turn) => (isOpen ? turn.end === undefined : status === undefined || turn.end?.status === status))
    .filter(({ tags = [] }) => tag === undefined || tags.includes(tag))
    .filter(({ of }) => conversationId === undefined || NumberedData.conversationId(of) === conversationId)
    .filter((turn) => since === undefined || at(turn) >= since)
    .filter((turn) => isOpen || model === undefined || modelOf(turn) === model || modelOf(turn).startsWith(`${model}/`))
    .sort((a, b) => (isOpen || tag !== undefined || conversationId !== undefined ? 0 : at(b) - at(a)) || b.n - a.n)
    .map(({ n }) => n)
}

/** Every page, to the last. */
const pages = Effect.fnUntraced(function* <Row>(
  read: (after: Position | undefined) => Effect.Effect<Page<Row>, StorageError>,
  between: Effect.Effect<void, Journal.AppendError, Store | TurnLog> = Effect.void
) {
  const rows: Array<Row> = []
  let after: Position | undefined
  do {
    const page: Page<Row> = yield* read(after)
    rows.push(...page.rows)
    expect(rows.length).toBeLessThan(1_000)
    after = page.next
    yield* between
  } while (after !== undefined)
  return rows
})

/** Runs the suite; each test builds the layer anew, and finds it empty. */
export const suite = (name: string, layer: Layer.Layer<Storage, StorageError | SqlError.SqlError>, runs = 60) => {
  const test = It.suite(name, layer, it.live)

  test("rule X10: a record has the newest turns, and counts those whose records are gone or cannot be read", function* () {
    const [store, { recording }] = [yield* Store, yield* Lists]
    for (const [n, model] of ["a/m", "none"].entries())
      yield* store.createConversation(NumberedData.conversation(n + 1, { model }))
    for (const n of [1, 2, 3, 4, 5, 6]) yield* Logged.accept(NumberedData.turn(n, n === 6 ? 2 : 1))
    const ended = (n: number, attempts: number) =>
      Logged.events(NumberedData.turnId(n), [{ ...NumberedData.end(n, 1), attempts }], 0)
    yield* ended(1, 1)
    yield* ended(2, 0) // in the queue
    yield* Logged.append(NumberedData.turnId(4), 0, [{ name: "step/0/attempt/0", value: "{}" }])
    yield* Logged.append(NumberedData.turnId(5), 0, [{ name: "of a newer version", value: "{}" }])
    const read = [yield* recording(0, 6), yield* recording(0, 5)]
    expect(read.map(({ isCut, without }) => [isCut, without].join())).toEqual(["false,3", "true,2"])
    const seen = read.map(({ turns }) => turns.map(({ isSubmitted, turnId }) => `${turnId} ${String(isSubmitted)}`))
    expect(seen).toEqual(read.map(() => [2, 3, 5].map((n) => `turn-${n} false`)))
  })

  test("rule X15: the pages of a filter have each turn once, in order, while others are accepted", function* () {
    const context = yield* Effect.context<Storage>()
    yield* Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(kept, filters, fc.integer({ min: 1, max: 4 }), (given, { of, ...rest }, limit) =>
          Effect.gen(function* () {
            const filter = { ...rest, ...of }
            const [sql, lists] = [yield* SqlClient.SqlClient, yield* Lists]
            for (const table of ["turn_labels", "turn_tags", "journal", "events", "turns", "conversations"])
              yield* sql`DELETE FROM ${sql(table)}`
            const turns = given.map((turn, i) => ({ ...turn, n: i + 1 }))
            yield* write(turns)
            let added = 100
            const more = Effect.suspend(() => add({ n: ++added, of: 0, acceptedAt: 1_000 }))
            const rows = yield* pages((after) => lists.turns(filter, after, limit), more)
            const ids = meant(turns, filter).map(NumberedData.turnId)
            expect(rows.map(({ turn }) => turn.turnId)).toEqual(ids)
            for (const { labels, model, turn } of rows) {
              const of = turns.find(({ n }) => NumberedData.turnId(n) === turn.turnId)
              expect(of && modelOf(of)).toBe(model)
              const { n, tags = [] } = of ?? expect.fail("it was never accepted")
              expect(labels).toEqual({ metadata: { n }, ...(tags.length === 0 ? {} : { tags }) })
              expect(turn.end?.status).toBe(of?.end?.status)
            }
          }).pipe(Effect.provide(context), Effect.runPromise)
        ),
        { numRuns: runs }
      )
    )
  })

  test("rule X15: conversations are listed by model and time, with their newest turn and whether they are busy", function* () {
    const lists = yield* Lists
    yield* write([
      { n: 1, of: 0, acceptedAt: 1 },
      { n: 2, of: 0, acceptedAt: 2 },
      { n: 3, of: 1, acceptedAt: 3, end: { status: "failed", endedAt: 4 } }
    ])
    const listed = (filter: Parameters<Lists["Service"]["conversations"]>[0]) =>
      Effect.map(
        pages((after) => lists.conversations(filter, after, 1)),
        (rows) => rows.map(({ conversation, isBusy, lastTurnId }) => [conversation.conversationId, lastTurnId, isBusy])
      )
    const all = [
      [NumberedData.conversationId(2), undefined, false],
      [NumberedData.conversationId(1), NumberedData.turnId(3), false],
      [NumberedData.conversationId(0), NumberedData.turnId(2), true]
    ]
    expect(yield* listed({})).toEqual(all)
    expect(yield* listed({ model: "anthropic" })).toEqual(all.slice(1))
    expect(yield* listed({ model: "anthropic/claude" })).toEqual(all.slice(2))
    expect(yield* listed({ since: NumberedData.conversation(1).createdAt })).toEqual(all.slice(0, 2))
    // Newer turns that were aborted in the queue are passed over: they have no event but their end.
    const store = yield* Store
    for (const of of [0, 1]) {
      const n = 14 + of
      yield* Logged.accept(NumberedData.turn(n, of))
      yield* Logged.events(NumberedData.turnId(n), [{ ...NumberedData.end(n, of), status: "aborted", queued: true }], 0)
      const last = yield* store.lastTurn(NumberedData.conversationId(of))
      expect(Option.getOrThrow(last).turnId).toBe(NumberedData.turnId(of === 0 ? 2 : 3))
    }
    expect(yield* listed({})).toEqual(all)
    const ids = [2, 0, 9].map(NumberedData.conversationId)
    expect(yield* listed({ ids })).toEqual([all[0], all[2]])
    expect(yield* listed({ ids, since: NumberedData.conversation(1).createdAt })).toEqual(all.slice(0, 1))
    expect(yield* listed({ isBusy: true })).toEqual(all.slice(2))
    expect(yield* listed({ isBusy: true, ids: ids.slice(0, 1) })).toEqual([])
    yield* Logged.accept(NumberedData.turn(4, 2))
    yield* Logged.accept(NumberedData.turn(5, 0))
    expect((yield* listed({ isBusy: true })).map(([id]) => id)).toEqual([0, 2].map(NumberedData.conversationId))
    // A cursor has numbers, whatever the columns are.
    const { next } = yield* lists.conversations({ isBusy: true }, undefined, 1)
    expect([typeof next?.at, typeof next?.number]).toEqual(["number", "number"])
  })

  test("rule X15: turns are found by a text in their prompt or answer, in any case, and by nothing else", function* () {
    const [store, lists] = [yield* Store, yield* Lists]
    yield* store.createConversation(NumberedData.conversation(1))
    const said = Effect.fnUntraced(function* (n: number, prompt: string, answer: string | undefined) {
      yield* Logged.accept(NumberedData.turn(n, 1, { prompt }))
      const message = NumberedData.message(n, 1, 1)
      const content = [{ type: "text" as const, text: answer ?? "" }]
      const events: readonly [TurnEvent.PersistedEvent] = [
        { ...message, message: { ...message.message, content } as typeof message.message }
      ]
      if (answer !== undefined) yield* Logged.events(NumberedData.turnId(n), events, 0)
    })
    yield* said(1, 'The disk is "full": 100 %', "Delete the logs.")
    yield* said(2, "Hello", 'I see: "Full" of text\nin the DISK_1.')
    yield* said(3, "A long wait", undefined)
    const found = (search: string) =>
      Effect.map(
        pages((after) => lists.turns({ search }, after, 1)),
        (rows) => rows.map(({ turn }) => turn.turnId)
      )
    const [one, two, three] = [1, 2, 3].map(NumberedData.turnId)
    expect(yield* found("disk")).toEqual([two, one])
    expect(yield* found('"full"')).toEqual([two, one])
    expect(yield* found("text\nin")).toEqual([two])
    expect(yield* found("100 %")).toEqual([one])
    expect(yield* found("disk_1")).toEqual([two])
    expect(yield* found("LONG")).toEqual([three])
    // Where a prompt is so long that its list has the beginning alone.
    yield* store.createConversation(NumberedData.conversation(2))
    const beginning = "x".repeat(200)
    yield* Logged.accept(NumberedData.turn(4, 2, { prompt: `${beginning} far off` }), { isOpened: true })
    const { rows } = yield* lists.turns({ search: "far off" }, undefined, 9)
    expect(rows.map(({ turn: { prompt, turnId } }) => [turnId, prompt])).toEqual([[NumberedData.turnId(4), beginning]])
    // Keys and ids of a message as it is on disk.
    for (const search of ["content", "assistant", "createdAt", "turn-2", "1%0", "!"])
      expect(yield* found(search)).toEqual([])
  })

  test("rule X15: a conversation has its own title or its first prompt, and is found by both", function* () {
    const [store, lists] = [yield* Store, yield* Lists]
    yield* store.createConversation(NumberedData.conversation(1))
    yield* store.createConversation(NumberedData.conversation(2, { title: "Incidents", tools: ["search"] }))
    yield* store.createConversation(NumberedData.conversation(3))
    yield* Logged.accept(NumberedData.turn(1, 1, { prompt: "Why is the sky blue?" }))
    yield* Logged.accept(NumberedData.turn(2, 1, { prompt: "And at night?" }))
    yield* Logged.accept(NumberedData.turn(3, 2, { prompt: "Summarise the night" }))
    const titles = (search?: string) =>
      Effect.map(
        pages((after) => lists.conversations({ search }, after, 2)),
        (rows) => rows.map(({ title }) => title)
      )
    expect(yield* titles()).toEqual([undefined, "Incidents", "Why is the sky blue?"])
    expect(yield* titles("NIGHT")).toEqual(["Incidents", "Why is the sky blue?"])
    expect(yield* titles("incid")).toEqual(["Incidents"])
    expect(yield* store.change(NumberedData.conversationId(1), { title: "Sky" })).toBe(true)
    expect(yield* store.change(NumberedData.conversationId(9), { title: "None" })).toBe(false)
    expect(yield* titles()).toEqual([undefined, "Incidents", "Sky"])
    const tools = (n: number) =>
      Effect.map(store.conversation(NumberedData.conversationId(n)), (found) => Option.getOrThrow(found).tools)
    expect([yield* tools(1), yield* tools(2)]).toEqual([undefined, ["search"]])
  })

  test("rule X12: reports a period from rows and records, read page by page", function* () {
    const lists = yield* Lists
    const failed = { reason: "overloaded", message: "Overloaded", retryable: true } as const
    const ended = (n: number, of: number, status: TurnEvent.TurnStatus, records: Kept["records"] = []) =>
      add({ n, of, acceptedAt: n, end: { status, endedAt: 900_000 + n }, records })
    yield* write([{ n: 500, of: 2, acceptedAt: 500 }])
    // More than two pages; they waited, so that their records are read.
    yield* ended(1, 0, "completed", [
      GivenRecords.failed(0, 100_000),
      GivenRecords.retry(0, 500_000, 600_000),
      GivenRecords.wake(0, 0, { type: "elapsed" }),
      GivenRecords.completed(1, 900_001)
    ])
    for (let n = 2; n <= 2 * TurnUse.PAGE + 5; n++) yield* ended(n, 0, "completed")
    yield* ended(300, 1, "failed", [GivenRecords.failed(0, 700_000, 0, { ...failed, shared: true })])
    yield* Logged.append(NumberedData.turnId(500), 0, [GivenRecords.failed(0, 950_000)])
    yield* Logged.append(NumberedData.turnId(500), 1, [GivenRecords.retry(0, 60_000, 1_010_000)])
    const answeredCalls = yield* AnsweredCalls
    const tokens = { input: 7, output: 3, cachedInput: 1, cacheWrite: 0 }
    const hourMs = 3_600_000
    const hour = { hour: 0, target: MODELS[2], calls: 2, unreported: 0, tokens }
    yield* answeredCalls.add([hour, { ...hour, hour: 2 * hourMs }])
    yield* answeredCalls.add([{ ...hour, target: MODELS[0], unreported: 1 }, hour])
    expect(yield* answeredCalls.between(hourMs - 1, hourMs)).toEqual([
      { ...hour, target: MODELS[0], unreported: 1 },
      { ...hour, calls: 4, tokens: { input: 14, output: 6, cachedInput: 2, cacheWrite: 0 } }
    ])
    expect(yield* answeredCalls.between(hourMs, 2 * hourMs - 1)).toEqual([])
    const log = yield* TurnLog
    const ports = { lists, log, answered: answeredCalls }
    const period = { since: 0, until: 1e6, timeZone: "UTC", prices: {}, keyVariables: () => [], redact: String }
    const report = yield* PeriodReports.read(ports, period)
    expect(report).toMatchObject({
      turns: { answered: 205, failed: 1, waiting: 1 },
      waitedMs: 550_000,
      waited: 2,
      savedCalls: 1,
      forgotten: 204,
      outages: [
        { target: MODELS[0], beganAt: 100_000, endedAt: 900_001, failures: 1, reason: "overloaded" },
        { target: MODELS[2], beganAt: 950_000, failures: 1, reason: "overloaded" }
      ],
      answeredCalls: 6,
      spend: { turns: 212, inputTokens: 2_081, unreported: 206, cost: "unknown" }
    })
    // The record that a replay follows has the newest turns, with those that have not ended.
    const recording = yield* lists.recording(900_205, 9)
    const recorded = recording.turns.map(({ records, turnId }) => `${turnId} ${records.length}`)
    expect(recorded.toSorted()).toEqual(["turn-300 1", "turn-500 2"])
    expect(recording).toMatchObject({ without: 1, isCut: false })
    expect((yield* lists.recording(0, 2)).isCut).toBe(true)
    const conversationId = NumberedData.conversationId(0)
    expect(report.conversations).toMatchObject([{ name: conversationId, turns: 205 }])
    const ofOne = yield* PeriodReports.read(ports, { ...period, conversationId })
    expect(ofOne).toMatchObject({ turns: { answered: 205, failed: 0, waiting: 0 }, spend: { turns: 205 } })
  })

  test("rule X15: lists have the model and the price of the report where an earlier turn has moved to another target", function* () {
    const lists = yield* Lists
    const ports = { lists, log: yield* TurnLog, answered: yield* AnsweredCalls }
    const prices = { [MODELS[0]]: { input: 1e6, output: 0 }, "cheap/m": { input: 1, output: 0 } }
    const period = { since: 0, until: 1e6, timeZone: "UTC", prices, keyVariables: () => [], redact: String }
    yield* write([])
    const { end } = NumberedData
    const answered = { steps: 1, attempts: 1, sleptMs: 0, waitedMs: 0, usage: { inputTokens: 5, outputTokens: 0 } }
    for (const n of [1, 2]) {
      yield* Logged.accept(NumberedData.turn(n, 0))
      const events = [{ ...end(n, 0), ...answered, endedAt: 10 }] as const
      // The first record of a turn may say that its first step is the last one.
      const final = { name: "step/0/final", value: '{"cause":"max-turns","at":0}' }
      const records = [final, GivenRecords.begins("cheap")].slice(2 - n)
      yield* Logged.append(NumberedData.turnId(n), 0, records, { events, position: 0 })
    }
    const { rows } = yield* lists.turns({ model: "cheap" }, undefined, 9)
    const listed = rows.map((row) => TurnReport.ofRow(row, TurnReport.NO_RECORDS, String, prices))
    expect(listed).toMatchObject([
      { model: "cheap/m", cost: 5e-6 },
      { model: "cheap/m", cost: 5e-6 }
    ])
    const report = yield* PeriodReports.read(ports, period)
    expect(report.models).toMatchObject([{ name: "cheap/m", turns: 2, cost: 1e-5 }])
    expect((yield* lists.turns({ model: "anthropic" }, undefined, 9)).rows).toEqual([])
  })

  test("rule X15: each page of 100,000 turns is read by an index, without a sort", function* () {
    const [sql, lists] = [yield* SqlClient.SqlClient, yield* Lists]
    yield* seed(sql, 100_000)
    const after = { at: 50_000, number: 50_000 }
    const plans: ReadonlyArray<readonly [index: string | RegExp, statement: Statement.Fragment]> = [
      ["turns_by_acceptance", TurnListTable.keysOf(sql, {}, after)],
      ["turns_by_acceptance", TurnListTable.keysOf(sql, { since: 10, model: "openai" }, after)],
      ["turns_by_end", TurnListTable.keysOf(sql, { status: "failed" }, after)],
      ["turns_by_end", TurnListTable.keysOf(sql, { status: "failed", since: 10, model: "openai" }, undefined)],
      [TAGS, TurnListTable.keysOf(sql, { tag: "rare", status: "failed", since: 10 }, after)],
      ["turns_unsealed", TurnListTable.keysOf(sql, { status: "open", since: 10 }, after)],
      ["turns_by_acceptance", TurnListTable.keysOf(sql, { since: 10, search: "disk" }, after)],
      ["conversations_by_creation", ConversationListTable.keysOf(sql, { since: 10, model: "openai" }, after)],
      ["conversations_by_creation", ConversationListTable.keysOf(sql, { search: "disk" }, after)],
      ["turns_unsealed", ConversationListTable.keysOf(sql, { isBusy: true, tag: "rare" }, after)]
    ]
    for (const [index, statement] of plans) {
      const plan = yield* planOf(sql, statement)
      expect(plan).toMatch(index)
      expect(plan).not.toMatch(WHOLE)
    }
    const uncounted = yield* planOf(sql, TurnListTable.keysOf(sql, { status: "uncounted", since: 10 }, undefined))
    expect(uncounted).toMatch("turns_uncounted")
    const byModel = yield* planOf(sql, TurnListTable.keysOf(sql, { model: "openai" }, after))
    expect(byModel).toMatch("events_model_change")
    const released = yield* planOf(sql, Outbox.ofEnded(sql, 99_990))
    expect(released).toMatch("turns_by_end")
    expect(released).not.toMatch("outbox_due")
    for (const statement of [
      TurnListTable.candidates(sql, [10, 50_000], "disk"),
      sql`SELECT c.conversation_id, e.payload ${EventTable.untilEnd(sql, NumberedData.turnId(1))}`
    ]) {
      const plan = yield* planOf(sql, statement)
      expect(plan).toMatch(EVENTS)
      expect(plan).not.toMatch(/SCAN [tcme]\b|Seq Scan on (turns|conversations|events)/)
    }
    // What a bulk command reads of its turns.
    const ids = [1, 50_000, 99_999]
    const [turnIds, conversationIds] = [ids.map(NumberedData.turnId), ids.map(NumberedData.conversationId)]
    for (const [index, statement] of [
      [/turn_id=\?|turns_turn_id_key/, TurnTable.statement(sql, TurnTable.hasId(sql, turnIds))],
      [/\(conversation=\?\)|turns_by_conversation/, TurnTable.statement(sql, TurnTable.isLastOf(sql, conversationIds))],
      [/\(conversation_id=\?\)|conversations_conversation_id_key/, SealTable.unsealedStatement(sql, conversationIds)]
    ] as const) {
      const plan = yield* planOf(sql, statement)
      expect(plan).toMatch(index)
      expect(plan).not.toMatch(/SCAN [tceok]\b|Seq Scan on (turns|conversations|events)/)
    }
    const failed = yield* lists.turns({ status: "failed", model: "nowhere" }, undefined, 50)
    // Looked for in steps: a page has an end, though there is nothing to be found.
    expect(failed.rows).toEqual([])
    expect(failed.next).toBeDefined()
    const page = yield* lists.turns({ status: "failed" }, { at: 90_000, number: 90_000 }, 50)
    expect(page.rows).toHaveLength(50)
    expect(page.rows[0]?.position).toEqual({ at: 89_999, number: 89_999 })

    yield* sql`UPDATE turns SET prompt = 'a needle' WHERE number IN (99700, 99699, 99001, 98900)`
    const found = (after: number | undefined, limit: number, stepMs = 0) =>
      lists.turns({ search: "needle" }, after === undefined ? undefined : { at: after, number: after }, limit).pipe(
        Effect.provideService(Clock.Clock, clockOf(stepMs)),
        Effect.map(({ next, rows }) => [rows.map(({ position }) => position.number), next?.number])
      )
    // However the steps of a page fall, and wherever it ends.
    expect(yield* found(undefined, 2)).toEqual([[99_700, 99_699], 99_699])
    expect(yield* found(99_699, 50)).toEqual([[99_001, 98_900], 98_699])
    expect(yield* found(undefined, 50)).toEqual([[99_700, 99_699, 99_001], 99_001])
    expect(yield* found(1_001, 50)).toEqual([[], 1])
    expect(yield* found(1_000, 50)).toEqual([[], undefined])
    // Looking for them took too long.
    expect(yield* found(99_701, 50, 20)).toEqual([[99_700, 99_699], 99_601])
  })
}

// --- internal

/** A clock that goes on by so many milliseconds whenever it is read. */
const clockOf = (stepMs: number): Clock.Clock => {
  let now = 0
  const millis = () => (now += stepMs)
  const nanos = () => BigInt(millis()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: () => Effect.never
  }
}

/** How plans name a table that is read from end to end, or sorted. */
const WHOLE = /TEMP B-TREE|SCAN [tcm]\b|Seq Scan on (turns|conversations|events)|\bSort\b/

/** How each database names a read of the events of a turn: between two ids of its conversation, or by the turn. */
const EVENTS =
  /\(conversation=\? AND event_id>\? AND event_id<\?\)|Index Cond: [^"]*event_id > [^"]*event_id <=|events_by_turn [^"]*"}\n[^"]*"QUERY PLAN":" +Index Cond: \(turn = /

/** How each database names the key of the table of tags. */
const TAGS = /SEARCH g USING PRIMARY KEY \(tag=\? AND turn<\?\)|turn_tags_pkey/

/** Turns that failed (odd numbers), or have not ended, each in a conversation of its own. */
const seed = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, count: number) {
  const numbers = sql.onDialectOrElse({
    pg: () => sql`SELECT n FROM generate_series(1, CAST(${count} AS INTEGER)) AS n`,
    orElse: () =>
      sql`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${count}) SELECT n FROM s`
  })
  yield* sql`INSERT INTO conversations (number, conversation_id, model, auto_retry_enabled, created_at)
    SELECT n, 'c-' || n, 'anthropic/claude', 1, n FROM (${numbers}) AS numbers`
  yield* sql`INSERT INTO turns (number, turn_id, conversation, prompt, accepted_at, after_event_id, end_event_id, status, ended_at)
    SELECT n, 't-' || n, n, 'prompt', n, 0,
      CASE WHEN n % 2 = 1 THEN 1 END, CASE WHEN n % 2 = 1 THEN 'failed' END, CASE WHEN n % 2 = 1 THEN n END
    FROM (${numbers}) AS numbers`
  yield* sql`INSERT INTO turn_tags (tag, turn) SELECT 'rare', n FROM (${numbers}) AS numbers WHERE n % 100 = 0
    UNION ALL SELECT 'common', n FROM (${numbers}) AS numbers WHERE n % 2 = 0`
  const end = JSON.stringify(NumberedData.end(1, 1))
    .replace(/^.*"type":"turn-end"/, "")
    .replace("completed", "failed")
  yield* sql`INSERT INTO events (conversation, event_id, turn, position, type, payload)
    SELECT n, 1, n, 0, 'turn-end', CAST(${end} AS TEXT) FROM (${numbers}) AS numbers WHERE n % 2 = 1`
  yield* sql`INSERT INTO outbox (id, lane, receiver, turn, state, attempts, due_at, claimed_until)
    SELECT 'm-' || n, 'm-' || n, 'webhook', n, 'pending', 0, ${Outbox.NOT_YET}, 0 FROM (${numbers}) AS numbers WHERE n % 100 = 0`
  yield* sql`ANALYZE`
})

const planOf = (sql: SqlClient.SqlClient, statement: Statement.Fragment): Effect.Effect<string, SqlError.SqlError> =>
  Effect.map(
    sql.onDialectOrElse({
      pg: () => sql`EXPLAIN ${statement} LIMIT 51`,
      orElse: () => sql`EXPLAIN QUERY PLAN ${statement} LIMIT 51`
    }),
    (rows) => rows.map((row) => JSON.stringify(row)).join("\n")
  )
