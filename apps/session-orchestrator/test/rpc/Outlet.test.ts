import { expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { EventEmitter } from "node:events"
import { LoopBudget } from "../../src/engine/pacing/LoopBudget.ts"
import { Outlet, type Writable } from "../../src/rpc/Outlet.ts"
import * as It from "../It.ts"

/** A stream whose client reads when the test does. */
class Client extends EventEmitter implements Writable {
  destroyed = false
  writableEnded = false
  writableNeedDrain = false
  isReading = true
  readonly taken: Array<string> = []
  private readonly callbacks: Array<() => void> = []

  write(text: unknown, onWritten?: () => void): boolean {
    if (text !== "") this.taken.push(String(text))
    if (onWritten !== undefined) this.callbacks.push(onWritten)
    this.writableNeedDrain = !this.isReading
    return this.isReading
  }
  end(text: unknown): void {
    this.taken.push(`${String(text)} end`)
    this.writableEnded = true
  }
  read(): void {
    this.isReading = true
    this.writableNeedDrain = false
    this.emit("drain")
    for (const callback of this.callbacks.splice(0)) callback()
  }
  destroy(): void {
    this.destroyed = true
    this.emit("close")
  }
}

const given = () => {
  const client = new Client()
  const stalled = Effect.sync(() => client.destroy())
  const outlet = new Outlet(client, { budget: new LoopBudget(1024 * 1024), stalled })
  return { client, outlet, write: (text: string) => outlet.write(Buffer.from(text)) }
}

it("a client that reads gets every write at once", () => {
  const { client, outlet, write } = given()
  expect([outlet.hasBegun, write("a"), write("b"), outlet.hasBegun]).toEqual([false, undefined, undefined, true])
  expect([outlet.write("c", true), write("d")]).toEqual([undefined, undefined])
  expect(client.taken).toEqual(["a", "b", "c end"])
})

It.effect("a client that does not read gets one write, and the others in their order once it reads", function* () {
  const { client, outlet } = given()
  client.isReading = false
  const first = yield* Effect.forkChild(outlet.send("a"), { startImmediately: true })
  expect(outlet.isFree).toBe(false)
  const writers = yield* Effect.forkChild(
    Effect.forEach(["b", "c", "d"], (text) => outlet.send(text), { concurrency: 3 })
  )
  yield* TestClock.adjust("59 seconds")
  expect([client.taken, first.pollUnsafe()]).toEqual([["a"], undefined])
  // It reads what it has, and no more: one of those that wait is written.
  client.writableNeedDrain = false
  client.emit("drain")
  yield* TestClock.adjust("1 second")
  expect(client.taken).toEqual(["a", "b"])
  client.read()
  yield* Fiber.join(first)
  yield* Fiber.join(writers)
  expect([client.taken, outlet.isFree]).toEqual([["a", "b", "c", "d"], true])
  expect(client.listenerCount("drain") + client.listenerCount("close")).toBe(0)
})

It.effect("a client that reads nothing for a minute is dropped, and its writers go on", function* () {
  const { client, outlet, write } = given()
  client.isReading = false
  const writers = yield* Effect.forkChild(
    Effect.forEach(["a", "b", "c"], (text) => outlet.send(text), { concurrency: 3 })
  )
  yield* TestClock.adjust("60 seconds")
  yield* Fiber.join(writers)
  expect([client.taken, client.destroyed, write("d")]).toEqual([["a"], true, undefined])
})

It.effect("a write beyond the budget of a turn of the event loop waits for a later one", function* () {
  const client = new Client()
  const outlet = new Outlet(client, { budget: new LoopBudget(4), stalled: Effect.void })
  expect(outlet.write("1234")).toBe(undefined)
  const later = yield* Effect.forkChild(outlet.send("5678"), { startImmediately: true })
  expect(client.taken).toEqual(["1234"])
  yield* Fiber.join(later)
  expect(client.taken).toEqual(["1234", "5678"])
})

It.effect(
  "rule P16: a write returns once the stream takes more, or is closed; an interrupted one leaves nothing",
  function* () {
    const pipe = new Client()
    const outlet = new Outlet(pipe)
    yield* outlet.send("one\n")
    pipe.isReading = false
    const held = yield* Effect.forkChild(outlet.send("two\n"), { startImmediately: true })
    yield* TestClock.adjust("1 hour")
    expect(held.pollUnsafe()).toBe(undefined)
    expect(pipe.taken).toEqual(["one\n", "two\n"])
    pipe.read()
    yield* Fiber.join(held)
    pipe.isReading = false
    const left = yield* Effect.forkChild(outlet.send("three\n"), { startImmediately: true })
    yield* Fiber.interrupt(left)
    expect(pipe.listenerCount("drain")).toBe(0)
    const last = yield* Effect.forkChild(outlet.send("four\n"), { startImmediately: true })
    pipe.destroy()
    yield* Fiber.join(last)
  }
)

It.effect("rule P16: a reader has a time for the last lines, and does not hold the process longer", function* () {
  const pipe = new Client()
  const flush = new Outlet(pipe).flushed("", Duration.seconds(5))
  const read = yield* Effect.forkChild(flush, { startImmediately: true })
  pipe.read()
  expect(yield* Fiber.join(read)).toBe(true)
  const unread = yield* Effect.forkChild(flush, { startImmediately: true })
  yield* TestClock.adjust("4 seconds")
  expect(unread.pollUnsafe()).toBe(undefined)
  yield* TestClock.adjust("1 second")
  expect(yield* Fiber.join(unread)).toBe(false)
})
