/** Tests the laws of the service's `Journal`, with the events that follow from records, over any database. */
import { expect, it } from "@effect/vitest"
import type { JournalConflict } from "@holdfast/journal"
import { type StorageError } from "@holdfast/journal"
import { JournalSuite } from "@holdfast/journal/testing"
import { Records } from "@holdfast/kernel"
import { Property } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Effect, type Layer, Option, Result, Schema } from "effect"
import * as fc from "fast-check"
import { type Events, Journal } from "../../src/storage/EventJournal.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"

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
export const messageOf = (step: number, text: string, n = 1): Events => {
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
  return { conversationId, events: [{ conversationId, turnId, type: "message", message }], position: step }
}

/** Runs the suite. Each test builds the layer again, and finds it empty. */
export const suite = (name: string, layer: Layer.Layer<Store | Journal, StorageError>) => {
  const test = <E>(title: string, body: (journal: Journal["Service"]) => Effect.Effect<void, E, Store>) =>
    it.effect(`${name}: ${title}`, () =>
      Effect.andThen(NumberedData.oneTurn, Effect.flatMap(Journal, body)).pipe(Effect.provide(layer))
    )

  JournalSuite.suite(name, {
    layer,
    journal: Journal,
    accept: (n) =>
      n === 1
        ? NumberedData.oneTurn
        : Effect.flatMap(Store, (store) => Effect.asVoid(store.acceptTurn(NumberedData.turn(n, 1)))),
    seal: (n, at) =>
      Effect.flatMap(Store, (store) =>
        Effect.asVoid(
          store.appendEvents(
            NumberedData.conversationId(1),
            NumberedData.turnId(n),
            [{ ...NumberedData.end(n, 1), endedAt: at }],
            0
          )
        )
      )
  })

  test("the newest record of every turn without a seal is found, whatever the order of writing", (journal) =>
    Effect.gen(function* () {
      const store = yield* Store
      for (const n of [2, 3, 4]) yield* store.acceptTurn(NumberedData.turn(n, 1))
      for (const n of [3, 1, 2]) {
        for (let seq = 0; seq < n; seq++) yield* journal.append(NumberedData.turnId(n), seq, record(seq, { n }))
      }
      yield* store.appendEvents(NumberedData.conversationId(1), NumberedData.turnId(2), [NumberedData.end(2, 1)], 0)
      const unsealed = (n: number, tail: Records.Stored | undefined) => ({
        turnId: NumberedData.turnId(n),
        conversationId: NumberedData.conversationId(1),
        model: NumberedData.conversation(1).model,
        tail,
        records: tail === undefined ? 0 : n,
        interruption: undefined
      })
      const expected = [unsealed(1, record(0, { n: 1 })), unsealed(3, record(2, { n: 3 })), unsealed(4, undefined)]
      expect(yield* store.unsealedTurns).toEqual(expected)
      expect(yield* store.unsealedTurnsOf(NumberedData.conversationId(1))).toEqual(expected)
      expect(yield* store.unsealedTurnsOf(NumberedData.conversationId(2))).toEqual([])
    }))

  test("the outline of records leaves out long results of tools and the content of long answers, and keeps their usage", (journal) =>
    Effect.gen(function* () {
      const store = yield* Store
      const { turnId } = NumberedData.turn(1, 1)
      const long = "a\0\u{1f6f6}".repeat(20_000)
      const [answered, ...tools] = [
        attempt(0, long),
        given("Tool", 0, 0, { output: long, isError: false, endedAt: 6 }),
        given("Tool", 0, 1, { output: "short", isError: false, endedAt: 6 })
      ] as const
      yield* journal.appendWith(turnId, 0, [answered], messageOf(0, long))
      yield* journal.append(turnId, 1, ...tools)
      yield* journal.appendWith(turnId, 3, [attempt(1, "short")], messageOf(1, "short"))
      const [first, ...rest] = yield* store.recordOutline(turnId)
      expect(first && Records.valueOf("Attempt", first)).toEqual(completed([]))
      expect(rest).toEqual([tools[1], attempt(1, "short")])
      expect(yield* journal.load(turnId)).toEqual([answered, ...tools, attempt(1, "short")])
      expect(yield* store.recordOutline(NumberedData.turnId(9))).toEqual([])
    }))

  test("the records of answers come back as they were, whatever text, other turn or order of writing is beside them", (journal) =>
    Effect.gen(function* () {
      const store = yield* Store
      yield* store.acceptTurn(NumberedData.turn(2, 1))
      const texts = ["=1", ',"target":{"provider":"a"}', '"content":[', "", "a\0\u{1f6f6}"]
      for (const [step, text] of texts.entries()) {
        yield* journal.appendWith(NumberedData.turnId(1), step, [attempt(step, text)], messageOf(step, text))
        // The record of another answer than the event's is stored whole.
        yield* journal.appendWith(NumberedData.turnId(2), step, [attempt(step, `${text}!`)], messageOf(step, text, 2))
      }
      const of = (end: string) => texts.map((text, step) => attempt(step, text + end))
      expect(yield* journal.load(NumberedData.turnId(1))).toEqual(of(""))
      expect(yield* journal.load(NumberedData.turnId(2))).toEqual(of("!"))
      const tails = (yield* store.unsealedTurns).map(({ tail }) => tail)
      expect(tails).toEqual([of("").at(-1), of("!").at(-1)])
      // As after a lost result.
      const [first = ""] = texts
      yield* journal.appendWith(NumberedData.turnId(1), 0, [attempt(0, first)], messageOf(0, first))
      const other = yield* Effect.flip(
        journal.appendWith(NumberedData.turnId(1), 0, [attempt(0, "other")], messageOf(0, first))
      )
      expect(other._tag).toBe("JournalConflict")
    }))

  test("J2: records and the events that follow from them are stored together and once, also when they are written again", (journal) =>
    Effect.gen(function* () {
      const store = yield* Store
      const answer = answerOf(1)
      const stored = yield* journal.appendWith(NumberedData.turnId(1), 0, [record(0)], answer)
      expect(stored.map(({ event }) => event)).toEqual(answer.events)
      // As after a lost result.
      expect(yield* journal.appendWith(NumberedData.turnId(1), 0, [record(0)], answer)).toEqual(stored)
      expect(yield* store.turnEvents(NumberedData.turnId(1))).toEqual(stored)
      expect(yield* journal.load(NumberedData.turnId(1))).toEqual([record(0)])
      expect(Option.isSome(Option.flatMapNullishOr(yield* store.turn(NumberedData.turnId(1)), ({ end }) => end))).toBe(
        true
      )
    }))

  Property.prop(
    `${name}: J2: when many turns write at once, each has all of its records and events or none, whatever is refused beside it`,
    fc.array(fc.constantFrom<Kind>("both", "records", "events", "taken", "misplaced", "unknown"), {
      minLength: 1,
      maxLength: 12
    }),
    (kinds) =>
      Effect.gen(function* () {
        const store = yield* NumberedData.oneTurn
        const journal = yield* Journal
        const turns = kinds.map((kind, i) => ({ kind, n: i + 2 }))
        for (const { kind, n } of turns) {
          if (kind !== "unknown") yield* store.acceptTurn(NumberedData.turn(n, 1))
          if (kind === "taken") yield* journal.append(NumberedData.turnId(n), 0, record(0, "another runner's"))
        }
        const write = ({ kind, n }: (typeof turns)[number]): Effect.Effect<unknown, StorageError | JournalConflict> => {
          const answer = answerOf(n, kind === "misplaced" ? 1 : 0)
          if (kind === "records") return journal.append(NumberedData.turnId(n), 0, record(n))
          if (kind === "events")
            return store.appendEvents(answer.conversationId, NumberedData.turnId(n), answer.events, 0)
          return journal.appendWith(NumberedData.turnId(n), 0, [record(n)], answer)
        }
        const results = yield* Effect.forEach(turns, (turn) => Effect.result(write(turn)), {
          concurrency: "unbounded"
        })
        for (const [i, { kind, n }] of turns.entries()) {
          const records = (yield* journal.load(NumberedData.turnId(n))).map(({ name }) => name)
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
    { numRuns: 15 }
  )

  test("a record of a turn that was never accepted is refused, alone", (journal) =>
    Effect.gen(function* () {
      const [refused, kept] = yield* Effect.all(
        [
          Effect.result(journal.append(NumberedData.turnId(9), 0, record(0))),
          Effect.result(journal.append(NumberedData.turnId(1), 0, record(0)))
        ],
        { concurrency: "unbounded" }
      )
      expect(Result.isFailure(refused) && refused.failure.message).toContain(
        "Could not record step/0/attempt/0 of turn turn-9"
      )
      expect(Result.isSuccess(kept)).toBe(true)
    }))
}

// --- internal

/** What a turn writes, and what comes in between. */
type Kind = "both" | "records" | "events" | "taken" | "misplaced" | "unknown"

/** The answer of a turn of conversation 1, and its seal. */
const answerOf = (n: number, position = 0): Events => ({
  conversationId: NumberedData.conversationId(1),
  events: [NumberedData.message(n, 1, 1), NumberedData.end(n, 1)],
  position
})
