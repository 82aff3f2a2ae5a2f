import { describe, expect, it } from "@effect/vitest"
import type { Ids } from "@holdfast/wire"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as ConversationRetention from "../../src/storage/ConversationRetention.ts"
import { Deletions } from "../../src/storage/Deletions.ts"
import { Lists } from "../../src/storage/Lists.ts"
import * as MemoryStore from "./MemoryStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"
import * as It from "../It.ts"

const DAY = Duration.toMillis("1 day")

/** A conversation that was opened on a day and whose turn ended on another one, if it did. */
const write = Effect.fnUntraced(function* (
  n: number,
  openedOn: number,
  endedOn?: number,
  tags: ReadonlyArray<string> = []
) {
  const store = yield* Store
  yield* store.createConversation(NumberedData.conversation(n, { createdAt: openedOn * DAY, labels: { tags } }))
  yield* Logged.accept(NumberedData.turn(n, n, { acceptedAt: openedOn * DAY }))
  if (endedOn === undefined) return
  const end = { ...NumberedData.end(n, n), endedAt: endedOn * DAY }
  yield* Logged.events(NumberedData.turnId(n), [end], 0)
})

/** The conversations that are left, oldest first. */
const left = Effect.gen(function* () {
  const { rows } = yield* (yield* Lists).conversations({}, undefined, 200)
  return rows.map(({ conversation }) => conversation.conversationId).toReversed()
})

const ids = (...numbers: ReadonlyArray<number>) => numbers.map(NumberedData.conversationId)

describe("retention of conversations", () => {
  It.within(MemoryStore.layer)(
    "rule X15: those go that ended long ago, by tag where a rule has one; an open turn keeps its own",
    function* () {
      yield* write(1, 0, 1)
      yield* write(2, 0, 50)
      yield* write(3, 0)
      yield* write(4, 90, 91, ["nightly"])
      yield* write(5, 90, 91)
      yield* write(6, 98, 99, ["nightly"])
      const deleted: Array<string> = []
      const { conversation, scrub } = yield* Deletions
      let scrubs = 0
      const tried = (id: Ids.ConversationId) => (id === ids(5)[0] ? Effect.succeed("busy" as const) : conversation(id))
      const ports = {
        lists: yield* Lists,
        deletions: { conversation: tried, scrub: Effect.suspend(() => (scrubs++, scrub)) },
        deleted: (id: string) => Effect.sync(() => void deleted.push(id))
      }
      const rules = [{ after: Duration.days(60) }, { after: Duration.days(5), tag: "nightly" }]
      const { layer, lines } = It.logged()
      for (const [day, kept] of [
        [100, ids(2, 3, 5, 6)],
        [105, ids(2, 3, 5)],
        [110, ids(2, 3, 5)],
        [111, ids(3, 5)],
        [152, ids(3, 5)]
      ] as const) {
        yield* TestClock.setTime(day * DAY)
        yield* Effect.provide(ConversationRetention.round(ports, rules), layer)
        expect(yield* left).toEqual(kept)
      }
      expect([scrubs, deleted.toSorted()]).toEqual([3, ids(1, 2, 4, 6)])
      const said = (n: number) =>
        `Info Deleted ${n} conversation(s) that ended long ago (database.deleteConversations).`
      expect(lines).toEqual([2, 1, 1].map(said))
    }
  )

  It.within(MemoryStore.layer, it.live)(
    "rule X15: a conversation without a turn is as old as its creation; many are deleted over pages",
    function* () {
      const store = yield* Store
      for (let n = 1; n <= 130; n++) yield* store.createConversation(NumberedData.conversation(n, { createdAt: n }))
      yield* store.createConversation(NumberedData.conversation(500, { createdAt: Date.now() }))
      const ports = { lists: yield* Lists, deletions: yield* Deletions, deleted: () => Effect.void }
      yield* ConversationRetention.round(ports, [{ after: Duration.days(1) }])
      expect(yield* left).toEqual(ids(500))
    }
  )

  It.effect("without a rule, or with one without an end, nothing is read; and else once a day", function* () {
    let reads = 0
    const ports = {
      lists: { conversations: () => Effect.sync(() => (reads++, { rows: [], next: undefined })) },
      deletions: { conversation: () => Effect.die("nothing is to go"), scrub: Effect.void },
      deleted: () => Effect.void
    }
    for (const [rules, expected] of [
      [[], 0],
      [[{ after: Duration.infinity }], 0],
      [[{ after: Duration.days(1) }], 4]
    ] as const) {
      const fiber = yield* Effect.forkChild(ConversationRetention.run(ports, rules))
      yield* TestClock.adjust("3 days")
      expect([fiber.pollUnsafe(), reads]).toEqual([undefined, expected])
      yield* Fiber.interrupt(fiber)
    }
  })
})
