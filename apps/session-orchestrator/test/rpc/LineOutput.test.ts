import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { EventEmitter } from "node:events"
import * as LineOutput from "../../src/rpc/LineOutput.ts"

/** A stream whose reader takes the written text when the test calls `take`. */
class Pipe extends EventEmitter {
  readonly written: Array<string> = []
  isFull = false
  private readonly callbacks: Array<() => void> = []

  write(text: string, onWritten?: () => void): boolean {
    if (text !== "") this.written.push(text)
    if (onWritten !== undefined) this.callbacks.push(onWritten)
    return !this.isFull
  }

  take(): void {
    this.isFull = false
    this.emit("drain")
    for (const callback of this.callbacks.splice(0)) callback()
  }
}

it.effect("rule P16: a write returns once the stream takes more, and an interrupted one leaves nothing behind", () =>
  Effect.gen(function* () {
    const pipe = new Pipe()
    const { write } = LineOutput.make(pipe)
    yield* write("one\n")
    pipe.isFull = true
    const held = yield* Effect.forkChild(write("two\n"), { startImmediately: true })
    assert.isUndefined(held.pollUnsafe())
    assert.deepStrictEqual(pipe.written, ["one\n", "two\n"])
    pipe.take()
    yield* Fiber.join(held)
    pipe.isFull = true
    const left = yield* Effect.forkChild(write("three\n"), { startImmediately: true })
    yield* Fiber.interrupt(left)
    assert.strictEqual(pipe.listenerCount("drain"), 0)
  })
)

it.effect("rule P16: a reader has five seconds for the last lines, and does not hold the process longer", () =>
  Effect.gen(function* () {
    const pipe = new Pipe()
    const { flush } = LineOutput.make(pipe)
    const read = yield* Effect.forkChild(flush, { startImmediately: true })
    pipe.take()
    assert.isTrue(yield* Fiber.join(read))
    const unread = yield* Effect.forkChild(flush, { startImmediately: true })
    yield* TestClock.adjust("4 seconds")
    assert.isUndefined(unread.pollUnsafe())
    yield* TestClock.adjust("1 second")
    assert.isFalse(yield* Fiber.join(unread))
  })
)
