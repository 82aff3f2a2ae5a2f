/** Tests reads of a stored turn, also while its conversation is deleted. */
import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import { Config, type Values } from "../../../src/config/Config.ts"
import * as StoredTurns from "../../../src/insight/inspection/StoredTurns.ts"
import * as Secrets from "../../../src/config/redaction/Secrets.ts"
import { Deletions } from "../../../src/storage/Deletions.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import { Store } from "../../../src/storage/Store.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import * as Logged from "../../storage/Logged.ts"
import * as It from "../../It.ts"

/** A store whose conversation is deleted right after the row of its turn was read. */
const deleting = Layer.effect(
  Store,
  Effect.gen(function* () {
    const store = yield* Store
    const { conversation } = yield* Deletions
    return Store.of({
      ...store,
      turn: (id) => Effect.tap(store.turn(id), () => conversation(NumberedData.conversationId(1)))
    })
  })
)

const ended = Effect.gen(function* () {
  yield* NumberedData.oneTurn
  const turnId = NumberedData.turnId(1)
  yield* Logged.events(turnId, [NumberedData.message(1, 1, 1), NumberedData.end(1, 1)], 0)
  return turnId
})

const settings = Layer.mergeAll(
  Layer.succeed(Secrets.Secrets, Secrets.shapes),
  Layer.succeed(Config, { prices: {} } as unknown as Values)
)

const stored = StoredTurns.layer.pipe(Layer.provideMerge(MemoryStore.layer), Layer.provide(settings))

const readers = StoredTurns.layer.pipe(
  Layer.provideMerge(deleting),
  Layer.provideMerge(MemoryStore.layer),
  Layer.provide(settings)
)

const deleted = It.within(readers)

describe("a turn whose conversation is deleted while it is read", () => {
  type Read = (turns: StoredTurns.StoredTurns["Service"], turnId: Ids.TurnId) => Effect.Effect<unknown, unknown>
  const reads: ReadonlyArray<readonly [what: string, read: Read, expected: unknown]> = [
    [
      "has no state",
      ({ find }, id) => Effect.map(Effect.flip(find(id)), String),
      "TurnNotFound: There is no turn turn-1."
    ],
    ["is left out of courses", ({ courses }, id) => courses([id]), []],
    [
      "is not explained: there is no such conversation",
      ({ explain }, id) => Effect.map(Effect.flip(explain(NumberedData.conversationId(1), id)), ({ _tag }) => _tag),
      "ConversationNotFound"
    ]
  ]
  for (const [what, read, expected] of reads) {
    deleted(`StoredTurns.R2: ${what}`, function* () {
      const turnId = yield* ended
      assert.deepStrictEqual(yield* read(yield* StoredTurns.StoredTurns, turnId), expected)
    })
  }
})

it.effect("rule X15: a state is read from disk, by the turn's id alone; an unknown turn is named", () =>
  Effect.gen(function* () {
    yield* NumberedData.oneTurn
    const { find } = yield* StoredTurns.StoredTurns
    const turnId = NumberedData.turnId(1)
    assert.deepInclude(yield* find(turnId), { status: "queued", prompt: "prompt 1" })
    yield* Logged.events(turnId, [NumberedData.message(1, 1, 1), NumberedData.end(1, 1)], 0)
    const { status, text } = yield* find(turnId)
    assert.deepStrictEqual([status, text], ["completed", NumberedData.textOf(NumberedData.message(1, 1, 1).message)])
    const { message } = yield* Effect.flip(find(Ids.TurnId.make("none")))
    assert.strictEqual(message, "There is no turn none.")
  }).pipe(Effect.provide(stored))
)
