/** Tests what a watching client of the tests makes of a stream's frames. */
import { assert, describe, it } from "@effect/vitest"
import { type Ids, Sse, type TurnEvent } from "@holdfast/wire"
import { WatchingClient } from "./WatchingClient.ts"

const start: TurnEvent.TurnEvent = {
  type: "turn-start",
  conversationId: "c" as Ids.ConversationId,
  turnId: "t" as Ids.TurnId,
  startedAt: 0
}

describe("a watching client", () => {
  it("a stream that the service ends early, before its first event, is no fault: its events come with the next connection", () => {
    const watcher = new WatchingClient()
    watcher.read(Sse.reconnect({ code: "storage-unavailable", message: "PostgreSQL is going down." }))
    watcher.read(Sse.encode(start, 1))
    assert.deepStrictEqual([watcher.faults, watcher.events], [[], [start]])
  })

  it("a frame that is no event is a fault, and the frames behind it are read", () => {
    const watcher = new WatchingClient()
    watcher.read('data: {"type":"nonsense"}\n\n')
    watcher.read(Sse.encode(start, 1))
    assert.deepStrictEqual([watcher.faults.length, watcher.events], [1, [start]])
    assert.include(watcher.faults[0], "nonsense")
  })
})
