/** Tests the laws of every `Outbox`, over any database. */
import { expect } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import { Effect, type Layer, type Scope } from "effect"
import { Outbox } from "../../src/storage/Outbox.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"
import type { TurnLog } from "../../src/storage/TurnLog.ts"
import * as It from "../It.ts"

const message = (id: string, lane = id, dueAt = 0) => {
  return { id, lane, receiver: "webhook", payload: `{"id":"${id}"}`, dueAt }
}

/** Runs the suite. Each test builds the layer again, and finds it empty. */
export const suite = (name: string, layer: Layer.Layer<Outbox | Store | TurnLog, StorageError>) => {
  const declare = It.suite(name, layer)
  const test = (
    title: string,
    body: It.Body<[outbox: Outbox["Service"], store: Store["Service"]], Scope.Scope | TurnLog>
  ) =>
    declare(title, function* () {
      const [outbox, store] = [yield* Outbox, yield* Store]
      yield* Effect.gen(() => body(outbox, store))
    })
  const claim = (outbox: Outbox["Service"], now: number, until = now + 60, limit = 10) =>
    Effect.map(outbox.claim(now, until, limit), (claimed) => claimed.map(({ id, number }) => ({ id, number })))
  const ids = (claimed: ReadonlyArray<{ readonly id: string }>) => claimed.map(({ id }) => id)

  test("Outbox.O1: a message with a known id is not added again, also after its end, until it is forgotten", function* (outbox) {
    yield* outbox.add([message("a"), message("a")])
    yield* outbox.add([message("a")])
    const [first, ...others] = yield* claim(outbox, 1)
    expect(others).toEqual([])
    yield* outbox.settle(first?.number ?? 0, "delivered", 2)
    yield* outbox.add([message("a")])
    expect(yield* claim(outbox, 100)).toEqual([])
    yield* outbox.forget(1_000)
    yield* outbox.add([message("a")])
    expect(yield* claim(outbox, 100)).toEqual([])
    yield* outbox.forget(8 * 86_400_000)
    yield* outbox.add([message("a")])
    expect(ids(yield* claim(outbox, 100))).toEqual(["a"])
  })

  test("Outbox.O2: a lane is in order, and holds up no other one", function* (outbox) {
    yield* outbox.add([message("a1", "a"), message("a2", "a"), message("b1", "b", 5), message("c1", "c")])
    const [a1, c1] = yield* claim(outbox, 1)
    expect([a1?.id, c1?.id]).toEqual(["a1", "c1"])
    // The first of the lane is under way, then waits, then is given up.
    expect(yield* claim(outbox, 2)).toEqual([])
    yield* outbox.postpone(a1?.number ?? 0, 1, 20)
    expect(ids(yield* claim(outbox, 10))).toEqual(["b1"])
    const [again] = yield* outbox.claim(20, 80, 1)
    expect(again).toMatchObject({ id: "a1", attempts: 1, receiver: "webhook", payload: '{"id":"a1"}' })
    yield* outbox.settle(again?.number ?? 0, "refused", 21)
    expect(ids(yield* claim(outbox, 21))).toEqual(["a2"])
  })

  test("claims none of the receivers that are excepted", function* (outbox) {
    yield* outbox.add(["a", "b", "c"].map((receiver) => ({ ...message(receiver), receiver })))
    expect(ids(yield* outbox.claim(1, 60, 10, ["a", "c"]))).toEqual(["b"])
    expect(ids(yield* outbox.claim(1, 60, 10, []))).toEqual(["a", "c"])
  })

  test("a claim ends, and the message is claimed again under the same id", function* (outbox) {
    yield* outbox.add([message("a"), message("b")])
    expect(ids(yield* claim(outbox, 1, 50, 1))).toEqual(["a"])
    expect(ids(yield* claim(outbox, 1, 50))).toEqual(["b"])
    expect(yield* claim(outbox, 49)).toEqual([])
    expect(ids(yield* claim(outbox, 50))).toEqual(["a", "b"])
  })

  test("rule X15: a message about a turn's end is on disk with the turn, and due once the turn has ended", function* (outbox, store) {
    yield* store.createConversation(NumberedData.conversation(1))
    for (const n of [1, 2]) yield* Logged.accept(NumberedData.turn(n, 1, { notify: ["webhook"] }))
    // The same turn again is the same message.
    yield* Logged.accept(NumberedData.turn(1, 1, { notify: ["webhook"] }))
    yield* outbox.release(0, 1)
    expect(yield* claim(outbox, 1)).toEqual([])
    const end = (n: number) => Logged.events(NumberedData.turnId(n), [NumberedData.end(n, 1)], 0)
    yield* end(1)
    yield* end(2)
    const { endedAt } = NumberedData.end(1, 1)
    yield* outbox.release(endedAt + 1, 2)
    expect(yield* claim(outbox, 2)).toEqual([])
    yield* outbox.release(endedAt, 2)
    const [first, ...others] = yield* outbox.claim(2, 60, 10)
    expect(first).toMatchObject({ turnId: NumberedData.turnId(1), payload: undefined })
    // In order per conversation.
    expect(others).toEqual([])
    yield* outbox.settle(first?.number ?? 0, "delivered", 3)
    expect((yield* outbox.claim(3, 60, 10)).map(({ turnId }) => turnId)).toEqual([NumberedData.turnId(2)])
  })
}
