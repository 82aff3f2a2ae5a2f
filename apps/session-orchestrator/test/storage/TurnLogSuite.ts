/** Tests the laws of `TurnLog` over any database. */
import { expect } from "@effect/vitest"
import type { JournalConflict } from "@holdfast/journal"
import { type StorageError } from "@holdfast/journal"
import { JournalSuite } from "@holdfast/journal/testing"
import { Records } from "@holdfast/kernel"
import { Property } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Effect, type Layer, Result, Schema, type Scope, Stream } from "effect"
import * as fc from "fast-check"
import * as TurnLog from "../../src/storage/TurnLog.ts"
import * as Logged from "./Logged.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"
import * as It from "../It.ts"

const { record } = JournalSuite

/** A record as a checkpoint writes it. */
const given = <K extends Records.Kind>(
  kind: K,
  step: number,
  number: number,
  value: Records.ValueOf<K>
): Records.Stored => ({
  name: Records.nameOf(kind, step, number),
  value: JSON.stringify(Schema.encodeSync(Records.kinds[kind].schema)(value as never))
})

const USAGE = { inputTokens: 7, outputTokens: 9 }

type Content = Extract<Records.ValueOf<"Attempt">, { readonly _tag: "Completed" }>["content"]

const completed = (content: Content): Records.ValueOf<"Attempt"> => ({
  _tag: "Completed",
  content,
  usage: USAGE,
  endedAt: 5,
  finishReason: "tool-calls"
})

/** The record of an attempt that was answered with a text. */
export const attempt = (step: number, text: string) => given("Attempt", step, 0, completed([{ type: "text", text }]))

/** The message of that answer, at the position of its step. */
export const messageOf = (step: number, text: string, n = 1): Logged.Events => {
  const { conversationId, turnId } = NumberedData.turn(n, 1)
  const message = {
    role: "assistant" as const,
    id: Ids.messageIdOf(turnId, step + 1),
    turnId,
    createdAt: 5,
    content: [{ type: "text" as const, text }],
    target: { provider: "openai", model: "m" },
    finishReason: "tool-calls" as const,
    usage: USAGE
  }
  return { events: [{ conversationId, turnId, type: "message", message }], position: step }
}

/** Runs the suite. Each test builds the layer again, and finds it empty. */
export const suite = (name: string, layer: Layer.Layer<Store | TurnLog.TurnLog, StorageError>, runs = 15) => {
  const declare = It.suite(name, layer)
  const test = (title: string, body: It.Body<[], Scope.Scope | Store | TurnLog.TurnLog>) =>
    declare(title, function* () {
      yield* NumberedData.oneTurn
      yield* Effect.gen(body)
    })

  JournalSuite.suite(name, {
    layer,
    journal: Effect.map(TurnLog.TurnLog, ({ append, forget, load }) => ({
      forget,
      load,
      append: (turnId, seq, ...records) =>
        Effect.asVoid(
          TurnLog.one(
            { append },
            {
              conversationId: NumberedData.conversationId(1),
              turnId,
              seq,
              records: records.map(Logged.named),
              events: [],
              position: 0
            }
          )
        )
    })),
    accept: (n) =>
      n === 1 ? Effect.asVoid(NumberedData.oneTurn) : Effect.asVoid(Logged.accept(NumberedData.turn(n, 1))),
    seal: (n, at) =>
      Effect.asVoid(Logged.events(NumberedData.turnId(n), [{ ...NumberedData.end(n, 1), endedAt: at }], 0))
  })

  test("the newest record of every turn without a seal is found, whatever the order of writing", function* () {
    for (const n of [2, 3, 4]) yield* Logged.accept(NumberedData.turn(n, 1))
    for (const n of [3, 1, 2]) {
      for (let seq = 0; seq < n; seq++) yield* Logged.append(NumberedData.turnId(n), seq, [record(seq, { n })])
    }
    yield* Logged.events(NumberedData.turnId(2), [NumberedData.end(2, 1)], 0)
    const unsealed = (n: number, tail: Records.Stored | undefined) => ({
      turnId: NumberedData.turnId(n),
      conversationId: NumberedData.conversationId(1),
      model: NumberedData.conversation(1).model,
      tail,
      records: tail === undefined ? 0 : n,
      interruption: undefined
    })
    const expected = [unsealed(1, record(0, { n: 1 })), unsealed(3, record(2, { n: 3 })), unsealed(4, undefined)]
    expect(yield* Logged.tail()).toEqual(expected)
    expect(yield* Logged.tail(NumberedData.conversationId(1))).toEqual(expected)
    expect(yield* Logged.tail(NumberedData.conversationId(2))).toEqual([])
  })

  test("the outline of records leaves out long results of tools and the content of long answers, and keeps their usage", function* () {
    const store = yield* Store
    const { turnId } = NumberedData.turn(1, 1)
    const long = "a\0\u{1f6f6}".repeat(20_000)
    const [answered, ...tools] = [
      attempt(0, long),
      given("Tool", 0, 0, { output: long, isError: false, endedAt: 6 }),
      given("Tool", 0, 1, { output: "short", isError: false, endedAt: 6 })
    ] as const
    yield* Logged.append(turnId, 0, [answered], messageOf(0, long))
    yield* Logged.append(turnId, 1, [...tools])
    yield* Logged.append(turnId, 3, [attempt(1, "short")], messageOf(1, "short"))
    const [first, ...rest] = yield* store.recordOutline(turnId)
    expect(first && Records.valueOf("Attempt", first)).toEqual(completed([]))
    expect(rest).toEqual([tools[1], attempt(1, "short")])
    expect(yield* Logged.load(turnId)).toEqual([answered, ...tools, attempt(1, "short")])
    expect(yield* store.recordOutline(NumberedData.turnId(9))).toEqual([])
  })

  test("the records of answers come back as they were, whatever text, other turn or order of writing is beside them", function* () {
    yield* Logged.accept(NumberedData.turn(2, 1))
    const texts = ["=1", ',"target":{"provider":"a"}', '"content":[', "", "a\0\u{1f6f6}"]
    for (const [step, text] of texts.entries()) {
      yield* Logged.append(NumberedData.turnId(1), step, [attempt(step, text)], messageOf(step, text))
      // The record of another answer than the event's is stored whole.
      yield* Logged.append(NumberedData.turnId(2), step, [attempt(step, `${text}!`)], messageOf(step, text, 2))
    }
    const of = (end: string) => texts.map((text, step) => attempt(step, text + end))
    expect(yield* Logged.load(NumberedData.turnId(1))).toEqual(of(""))
    expect(yield* Logged.load(NumberedData.turnId(2))).toEqual(of("!"))
    const tails = (yield* Logged.tail()).map(({ tail }) => tail)
    expect(tails).toEqual([of("").at(-1), of("!").at(-1)])
    // As after a lost result.
    const [first = ""] = texts
    yield* Logged.append(NumberedData.turnId(1), 0, [attempt(0, first)], messageOf(0, first))
    const other = yield* Effect.flip(
      Logged.append(NumberedData.turnId(1), 0, [attempt(0, "other")], messageOf(0, first))
    )
    expect(other._tag).toBe("JournalConflict")
  })

  test("TurnLog.W2: events alone are refused where another process has written records since, also in one commit", function* () {
    const [one, other] = [NumberedData.turnId(1), NumberedData.turnId(2)]
    yield* Logged.accept(NumberedData.turn(2, 1))
    const late = (turnId: Ids.TurnId, seq: number, n: number) =>
      Logged.append(turnId, seq, [], { events: [NumberedData.end(n, 1)], position: 0 })
    yield* Logged.append(one, 0, [record(0)])
    expect((yield* Effect.flip(late(one, 0, 1)))._tag).toBe("JournalConflict")
    const [written, refused] = yield* Effect.all(
      [Effect.result(Logged.append(other, 0, [record(0)])), Effect.result(late(other, 0, 2))],
      { concurrency: "unbounded" }
    )
    expect([Result.isSuccess(written), Result.isSuccess(refused)]).toEqual([true, false])
    expect(yield* Stream.runCollect(Logged.after(NumberedData.conversationId(1), 0))).toEqual([])
    expect(yield* late(one, 1, 1)).toHaveLength(1)
    expect(yield* late(one, 1, 1)).toHaveLength(1) // as after a lost result
  })

  test("appends are made in the order of their calls, however many turns one of them is of", function* () {
    const log = yield* TurnLog.TurnLog
    const numbers = Array.from({ length: 300 }, (_, i) => i + 2)
    for (const n of numbers) yield* Logged.accept(NumberedData.turn(n, 1))
    const appends = numbers.map((n): TurnLog.Append => {
      const event = NumberedData.usage(n, 1, 0)
      return { ...event, seq: 0, records: [Logged.named(record(0))], events: [event], position: 0 }
    })
    yield* Effect.all([log.append(appends.slice(1)), log.append(appends.slice(0, 1))], { concurrency: 2 })
    const events = yield* Stream.runCollect(log.events(NumberedData.conversationId(1), 0))
    expect(events.at(-1)?.event.turnId).toBe(NumberedData.turnId(2))
  })

  test("TurnLog.W2: a late append to a sealed turn is refused, of records, of events, and of both", function* () {
    const { turnId } = NumberedData.turn(1, 1)
    const answer = answerOf(1)
    const stored = yield* Logged.append(turnId, 0, [record(0)], answer)
    const [usage, again] = [NumberedData.usage(1, 1, 0), NumberedData.end(1, 1)]
    const late: ReadonlyArray<readonly [ReadonlyArray<Records.Stored>, Logged.Events["events"], number]> = [
      [[record(1)], [], 0],
      [[], [usage, again], 2],
      [[], [...answer.events, usage], 0],
      [[record(1)], [usage], 2]
    ]
    for (const [records, events, position] of late) {
      const error = yield* Effect.flip(Logged.append(turnId, 1, records, { events, position }))
      expect(error._tag).toBe("JournalConflict")
    }
    expect((yield* Effect.flip(Logged.append(turnId, 0, [record(0), record(1)], answer)))._tag).toBe("JournalConflict")
    expect(yield* Logged.append(turnId, 1, [], answer)).toEqual(stored) // as after a lost result
    expect(yield* Logged.load(turnId)).toEqual([record(0)])
    expect(yield* Stream.runCollect(Logged.after(NumberedData.conversationId(1), 0))).toEqual(stored)
  })

  Property.prop(
    `${name}: TurnLog.W1: when many turns write at once, each has all of its records and events or none, whatever is refused beside it`,
    fc.array(fc.constantFrom<Kind>("both", "records", "events", "taken", "misplaced", "unknown"), {
      minLength: 1,
      maxLength: 12
    }),
    (kinds) =>
      Effect.gen(function* () {
        const store = yield* NumberedData.oneTurn
        const turns = kinds.map((kind, i) => ({ kind, n: i + 2 }))
        for (const { kind, n } of turns) {
          if (kind !== "unknown") yield* Logged.accept(NumberedData.turn(n, 1))
          if (kind === "taken") yield* Logged.append(NumberedData.turnId(n), 0, [record(0, "another runner's")])
        }
        const write = ({
          kind,
          n
        }: (typeof turns)[number]): Effect.Effect<unknown, StorageError | JournalConflict, TurnLog.TurnLog> => {
          const answer = answerOf(n, kind === "misplaced" ? 1 : 0)
          if (kind === "records") return Logged.append(NumberedData.turnId(n), 0, [record(n)])
          if (kind === "events") return Logged.events(NumberedData.turnId(n), answer.events, 0)
          return Logged.append(NumberedData.turnId(n), 0, [record(n)], answer)
        }
        const results = yield* Effect.forEach(turns, (turn) => Effect.result(write(turn)), { concurrency: "unbounded" })
        for (const [i, { kind, n }] of turns.entries()) {
          const records = (yield* Logged.load(NumberedData.turnId(n))).map(({ name }) => name)
          const events = (yield* store.turnEvents(NumberedData.turnId(n))).map(({ event }) => event.type)
          const failure = results[i]?.pipe(
            Result.flip,
            Result.getOrElse(() => undefined)
          )
          const isMade = ["both", "records", "events"].includes(kind)
          expect([kind, failure?._tag]).toEqual([
            kind,
            isMade ? undefined : kind === "taken" ? "JournalConflict" : "StorageError"
          ])
          expect([kind, records]).toEqual([
            kind,
            kind === "taken" ? [record(0).name] : isMade && kind !== "events" ? [record(n).name] : []
          ])
          expect([kind, events]).toEqual([kind, isMade && kind !== "records" ? ["message", "turn-end"] : []])
        }
      }).pipe(Effect.provide(layer)),
    { numRuns: runs }
  )
}

// --- internal

/** What a turn writes, and what comes in between. */
type Kind = "both" | "records" | "events" | "taken" | "misplaced" | "unknown"

/** The answer of a turn of conversation 1, and its seal. */
const answerOf = (n: number, position = 0): Logged.Events => ({
  events: [NumberedData.message(n, 1, 1), NumberedData.end(n, 1)],
  position
})
