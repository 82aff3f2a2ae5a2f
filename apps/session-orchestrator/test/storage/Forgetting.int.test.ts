/** Tests the deletion of old journals on a real database. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { expect } from "@effect/vitest"
import type { Ids } from "@holdfast/wire"
import { Effect } from "effect"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"
import { TurnLog } from "../../src/storage/TurnLog.ts"
import * as It from "../It.ts"

/** More turns than one batch deletes. */
const TURNS = 70

/** The end of the turns; see `Given.end`. */
const ENDED_AT = 1_760_000_001_000

/** Reads all journals in batches, as the service does; returns the number of batches and of deleted journals. */
const sweep = Effect.fnUntraced(function* (sealedBefore: number) {
  let batches = 0
  let forgotten = 0
  let after: Ids.TurnId | undefined
  do {
    const batch = yield* Effect.flatMap(TurnLog, (log) => log.forget(sealedBefore, after))
    batches++
    forgotten += batch.forgotten
    after = batch.next
  } while (after !== undefined)
  return { batches, forgotten }
})

It.live("old journals of sealed turns are deleted; other journals, and all events, stay", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* Effect.gen(function* () {
    const store = yield* NumberedData.oneConversation
    yield* Effect.forEach(
      Array.from({ length: TURNS }, (_, n) => n),
      (n) =>
        Effect.gen(function* () {
          yield* Logged.accept(NumberedData.turn(n, 1))
          yield* Logged.append(NumberedData.turnId(n), 0, [{ name: "step/0/attempt/0", value: "{}" }])
          yield* Logged.append(NumberedData.turnId(n), 1, [{ name: "step/0/decision/0", value: "{}" }])
          if (n > 0) {
            const events = [NumberedData.message(n, 1, 0), NumberedData.end(n, 1)] as const
            yield* Logged.events(NumberedData.turnId(n), events, 0)
          }
        }),
      { concurrency: "unbounded" }
    )
    expect((yield* sweep(ENDED_AT)).forgotten).toBe(0)
    expect(yield* Logged.load(NumberedData.turnId(5))).toHaveLength(2)

    const { batches, forgotten } = yield* sweep(ENDED_AT + 1)
    expect(forgotten).toBe(TURNS - 1)
    expect(batches).toBeGreaterThan(2)
    expect(yield* Logged.load(NumberedData.turnId(5))).toEqual([])
    expect(yield* Logged.load(NumberedData.turnId(0))).toHaveLength(2)
    expect(yield* store.turnEvents(NumberedData.turnId(5))).toHaveLength(2)
    expect(yield* Logged.history(NumberedData.conversationId(1))).toHaveLength(TURNS - 1)
    // Only journals that stay are left.
    expect(yield* sweep(ENDED_AT + 1)).toEqual({ batches: 1, forgotten: 0 })
  }).pipe(Effect.provide(SqlStore.layer({ path: filename })))
})
