/** What every `Deletions` does, whatever it stores in. */
import { expect, it } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import { Effect, type Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Deletions } from "../../src/storage/Deletions.ts"
import { Journal } from "../../src/storage/EventJournal.ts"
import { Lists } from "../../src/storage/Lists.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"

type Storage = Store | Journal | Lists | Deletions | SqlClient.SqlClient

/** Tables with rows of conversations. */
const TABLES = [
  "conversations",
  "turns",
  "events",
  "journal",
  "interruptions",
  "turn_labels",
  "turn_tags",
  "turn_prompts",
  "conversation_labels",
  "conversation_tags",
  "outbox"
]

/** Runs the suite; each test builds the layer anew, and finds it empty. */
export const suite = (name: string, layer: Layer.Layer<Storage, StorageError | SqlError.SqlError>) => {
  const rows = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const counts: Array<unknown> = []
    for (const table of TABLES) counts.push([table, (yield* sql`SELECT * FROM ${sql(table)}`).length])
    return counts
  })

  /** Conversation `of` with a turn of its own, with all that a turn can have. */
  const write = Effect.fnUntraced(function* (of: number, isSealed: boolean) {
    const store = yield* Store
    const journal = yield* Journal
    const labels = { tags: ["nightly"], metadata: { of } }
    yield* store.createConversation(NumberedData.conversation(of, { labels }))
    yield* store.acceptTurn(NumberedData.turn(of, of, { labels, notify: ["webhook"], ...NumberedData.withImage }))
    yield* journal.append(NumberedData.turnId(of), 0, { name: "step/0/attempt/0", value: "{}" })
    yield* store.appendEvents(
      NumberedData.conversationId(of),
      NumberedData.turnId(of),
      [NumberedData.message(of, of, 0)],
      0
    )
    if (isSealed)
      yield* store.appendEvents(NumberedData.conversationId(of), NumberedData.turnId(of), [NumberedData.end(of, of)], 1)
  })

  it.live(`${name}: X15: a conversation is deleted with everything in it, and nothing else is`, () =>
    Effect.gen(function* () {
      const deletions = yield* Deletions
      const store = yield* Store
      yield* write(1, true)
      const before = yield* rows
      yield* write(2, true)
      expect(yield* deletions.conversation(NumberedData.conversationId(2))).toBe("deleted")
      yield* deletions.scrub
      expect(yield* rows).toEqual(before)
      expect(yield* store.conversation(NumberedData.conversationId(2))).toEqual(Option.none())
      expect(yield* deletions.conversation(NumberedData.conversationId(2))).toBe("missing")
      // The same ids again are new.
      yield* write(2, true)
      expect(yield* store.messages(NumberedData.conversationId(2))).toHaveLength(1)
      const { rows: listed } = yield* (yield* Lists).turns({ tag: "nightly" }, undefined, 10)
      expect(listed.map(({ turn }) => turn.turnId)).toEqual([2, 1].map(NumberedData.turnId))
    }).pipe(Effect.provide(layer), Effect.orDie)
  )

  it.live(`${name}: X15: a conversation whose turn has not ended stays`, () =>
    Effect.gen(function* () {
      const deletions = yield* Deletions
      yield* write(1, false)
      const before = yield* rows
      expect(yield* deletions.conversation(NumberedData.conversationId(1))).toBe("busy")
      expect(yield* rows).toEqual(before)
    }).pipe(Effect.provide(layer), Effect.orDie)
  )
}
