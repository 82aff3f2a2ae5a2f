/** Tests records and the events that follow from them, which are written together. */
import { assert, describe, it } from "@effect/vitest"
import { JournalCheckpoint, StorageError } from "@holdfast/journal"
import { Records } from "@holdfast/kernel"
import { Effect, Schema } from "effect"
import { type Events, Journal } from "../../src/storage/EventJournal.ts"
import * as MemoryStore from "./MemoryStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"

const turnId = NumberedData.turnId(1)

const { stopping } = JournalCheckpoint

const names = Effect.map(
  Effect.flatMap(Journal, (journal) => journal.load(turnId)),
  (records) => records.map(({ name }) => name)
)

const failed: Records.AttemptOutcome = {
  _tag: "Failed",
  content: [],
  endedAt: 0,
  failure: { reason: "overloaded", message: "Overloaded", retryable: true },
  contentSeen: false,
  spread: 0
}

const count = (effects: { runs: number }) => Effect.sync(() => ++effects.runs)

describe("JournalCheckpoint with events", () => {
  const answered: Records.AttemptOutcome = { _tag: "Completed", content: [], endedAt: 0, finishReason: "stop" }
  const gaveUp = { _tag: "GiveUp", because: "exhausted" } as const
  const events: Events = {
    conversationId: NumberedData.conversationId(1),
    events: [NumberedData.end(1, 1)],
    position: 0
  }

  const joined = (persist: JournalCheckpoint.Persist = stopping, recorded: (name: string) => void = () => {}) =>
    Effect.gen(function* () {
      const store = yield* Store
      yield* Effect.ignore(NumberedData.oneTurn)
      const listener = { begins: () => {}, recorded: ({ name }: Records.Stored) => recorded(name) }
      const journal = yield* Journal
      const known = yield* journal.load(turnId)
      const journaled = JournalCheckpoint.joined(journal, turnId, known, { persist, listener })
      const { conversationId, position } = events
      const alone = Effect.suspend(() => store.appendEvents(conversationId, turnId, events.events, position))
      const ends = Effect.map(store.turnEvents(turnId), (stored) => stored.length)
      return { ...journaled, write: journaled.carrying(events, alone), ends }
    })

  it.effect("K8: an answer is on disk with the events that follow from it, and the listener is called then", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const appends = { runs: 0 }
      const counting: JournalCheckpoint.Persist = (append) => Effect.andThen(count(appends), stopping(append))
      const { checkpoint, ends, write } = yield* joined(counting, (name) => calls.push(name))
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      assert.deepStrictEqual([yield* names, calls, yield* ends], [[], [], 0])
      yield* write
      assert.deepStrictEqual([yield* names, calls, yield* ends], [["step/0/attempt/0"], ["step/0/attempt/0"], 1])
      assert.strictEqual(appends.runs, 1)
      yield* checkpoint.run("a", Schema.Number, Effect.succeed(1))
      assert.deepStrictEqual(yield* names, ["step/0/attempt/0", "a"])
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.effect("K8: the decision to give up is on disk with the failure before it and the events after it", () =>
    Effect.gen(function* () {
      const { checkpoint, ends, write } = yield* joined()
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(failed))
      yield* checkpoint.run("step/0/decision/0", Records.Directive, Effect.succeed(gaveUp))
      assert.deepStrictEqual([yield* names, yield* ends], [[], 0])
      yield* write
      assert.deepStrictEqual([yield* names, yield* ends], [["step/0/attempt/0", "step/0/decision/0"], 1])
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.effect("K3, K8: an answer whose write is refused leaves no record and no gap", () =>
    Effect.gen(function* () {
      const refused = new StorageError({ message: "disk full" })
      const { checkpoint, ends, write } = yield* joined((append) =>
        stopping(Effect.andThen(Effect.fail(refused), append))
      )
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      assert.strictEqual((yield* Effect.flip(write)).message, "disk full")
      assert.deepStrictEqual([yield* names, yield* ends], [[], 0])
      const next = yield* joined()
      yield* next.checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      yield* next.write
      assert.deepStrictEqual([yield* names, yield* ends], [["step/0/attempt/0"], 1])
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.effect("K8: an answer that is written again, because its first result was lost, is stored once", () =>
    Effect.gen(function* () {
      const lost = new StorageError({ message: "the connection was lost" })
      const twice: JournalCheckpoint.Persist = (append) =>
        stopping(Effect.catch(Effect.andThen(append, Effect.fail(lost)), () => append))
      const { checkpoint, ends, write } = yield* joined(twice)
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      yield* write
      assert.deepStrictEqual([yield* names, yield* ends], [["step/0/attempt/0"], 1])
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.effect("J2, K8: when another process has written under an answer's number, none of the answer is written", () =>
    Effect.gen(function* () {
      const { checkpoint, ends, write } = yield* joined()
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      yield* Effect.flatMap(Journal, (journal) => journal.append(turnId, 0, { name: "step/0/attempt/0", value: "1" }))
      assert.include((yield* Effect.flip(write)).message, "being run elsewhere")
      assert.strictEqual(yield* ends, 0)
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})
