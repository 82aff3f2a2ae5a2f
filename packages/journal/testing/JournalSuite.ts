/** Tests the laws of every `Journal`, over any database. */
import { expect, it } from "@effect/vitest"
import type { Records } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { type Journal, JournalConflict } from "../src/Journal.ts"
import type { StorageError } from "../src/StorageError.ts"

/** The id of turn `n`. */
export const turnId = (n: number): Ids.TurnId => Ids.TurnId.make(`turn-${n}`)

/** A record with number `n`. */
export const record = (
  n: number,
  value: unknown = { n, text: '"quoted", \u{1f6f6}, line\nbreak' }
): Records.Stored => ({ name: `step/0/attempt/${n}`, value: JSON.stringify(value) })

/** A journal under test. */
export interface Subject<R> {
  /** Each test builds it again, and finds it empty. */
  readonly layer: Layer.Layer<R, StorageError>
  readonly journal: Effect.Effect<Journal["Service"], never, R>
  /** Makes turn `n` known to a database that refuses records of unknown turns. */
  readonly accept: (n: number) => Effect.Effect<void, StorageError, R>
  /** Seals turn `n` at a moment in epoch milliseconds; the turn has one record. */
  readonly seal: (n: number, at: number) => Effect.Effect<void, StorageError | JournalConflict, R>
}

/** Runs the suite, one test a law. */
export const suite = <R>(name: string, { accept, journal, layer, seal }: Subject<R>): void => {
  const test = <E>(title: string, body: (journal: Journal["Service"]) => Effect.Effect<void, E, R>) =>
    it.effect(`${name}: ${title}`, () =>
      Effect.andThen(accept(1), Effect.flatMap(journal, body)).pipe(Effect.provide(layer))
    )

  test("a turn without records has an empty journal, and so has an unknown turn", (journal) =>
    Effect.gen(function* () {
      expect(yield* journal.load(turnId(1))).toEqual([])
      expect(yield* journal.load(turnId(9))).toEqual([])
    }))

  test("Journal.J1: records come back as they were written, in the order of their numbers", (journal) =>
    Effect.gen(function* () {
      const records = Array.from({ length: 30 }, (_, n) => record(n))
      for (const [seq, each] of records.entries()) yield* journal.append(turnId(1), seq, each)
      expect(yield* journal.load(turnId(1))).toEqual(records)
    }))

  test("U+0000 in the output of a model, which JSON escapes, comes back", (journal) =>
    Effect.gen(function* () {
      yield* journal.append(turnId(1), 0, record(0, { text: "a\0b" }))
      expect(yield* journal.load(turnId(1))).toEqual([record(0, { text: "a\0b" })])
    }))

  test("each turn has its own records when many are written at once", (journal) =>
    Effect.gen(function* () {
      const turns = Array.from({ length: 80 }, (_, n) => n + 2)
      yield* Effect.forEach(turns, accept, { concurrency: "unbounded" })
      yield* Effect.forEach(
        turns,
        (n) => Effect.forEach([0, 1, 2], (seq) => journal.append(turnId(n), seq, record(seq, { n }))),
        { concurrency: "unbounded" }
      )
      for (const n of turns) {
        expect(yield* journal.load(turnId(n))).toEqual([0, 1, 2].map((seq) => record(seq, { n })))
      }
    }))

  test("the same record again under its number changes nothing", (journal) =>
    Effect.gen(function* () {
      yield* journal.append(turnId(1), 0, record(0))
      yield* journal.append(turnId(1), 0, record(0))
      const writes = [1, 1, 1].map((seq) => journal.append(turnId(1), seq, record(seq)))
      yield* Effect.all(writes, { concurrency: "unbounded" })
      expect(yield* journal.load(turnId(1))).toEqual([record(0), record(1)])
    }))

  test("Journal.J2: a different record under a taken number is a conflict, and the first one stays", (journal) =>
    Effect.gen(function* () {
      yield* journal.append(turnId(1), 0, record(0))
      for (const other of [record(0, "another value"), { ...record(0), name: "step/0/sleep/0" }]) {
        const error = yield* Effect.flip(journal.append(turnId(1), 0, other))
        expect(error).toBeInstanceOf(JournalConflict)
        expect(error.message).toBe("Turn turn-1 is being run elsewhere.")
      }
      expect(yield* journal.load(turnId(1))).toEqual([record(0)])
    }))

  test("records of one append are stored together, or not at all", (journal) =>
    Effect.gen(function* () {
      yield* journal.append(turnId(1), 0, record(0), record(1))
      yield* journal.append(turnId(1), 0, record(0), record(1), record(2))
      const error = yield* Effect.flip(journal.append(turnId(1), 2, record(2, "another value"), record(3)))
      expect(error).toBeInstanceOf(JournalConflict)
      expect(yield* journal.load(turnId(1))).toEqual([record(0), record(1), record(2)])
    }))

  test("Journal.J2: of many writers of one number at once one succeeds", (journal) =>
    Effect.gen(function* () {
      const writers = Array.from({ length: 20 }, (_, writer) =>
        Effect.result(journal.append(turnId(1), 0, record(0, { writer })))
      )
      const results = yield* Effect.all(writers, { concurrency: "unbounded" })
      const winners = results.flatMap((result, writer) => (Result.isSuccess(result) ? [writer] : []))
      expect(winners).toHaveLength(1)
      expect(yield* journal.load(turnId(1))).toEqual([record(0, { writer: winners[0] })])
    }))

  test("the records of turns that were sealed long ago are deleted, and no others", (journal) =>
    Effect.gen(function* () {
      yield* accept(2)
      for (const n of [1, 2]) yield* journal.append(turnId(n), 0, record(0))
      yield* seal(1, 5_000)
      const forget = Effect.fnUntraced(function* (sealedBefore: number) {
        let sum = 0
        let after: Ids.TurnId | undefined
        do {
          const { forgotten, next } = yield* journal.forget(sealedBefore, after)
          sum += forgotten
          after = next
        } while (after !== undefined)
        return sum
      })
      expect(yield* forget(5_000)).toBe(0)
      expect(yield* forget(5_001)).toBe(1)
      expect(yield* journal.load(turnId(1))).toEqual([])
      expect(yield* journal.load(turnId(2))).toEqual([record(0)])
    }))
}
