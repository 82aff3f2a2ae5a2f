import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { EventEmitter } from "node:events"
import { LoopBudget } from "../../../src/pacing/LoopBudget.ts"
import { SocketOutput, type Writable } from "../../../src/http/socket/SocketOutput.ts"

/** A socket whose client reads when the test does. */
class Client extends EventEmitter implements Writable {
  writable = true
  writableNeedDrain = false
  isReading = true
  readonly taken: Array<string> = []
  write(text: unknown): boolean {
    this.taken.push(String(text))
    this.writableNeedDrain = !this.isReading
    return this.isReading
  }
  read(): void {
    this.isReading = true
    this.writableNeedDrain = false
    this.emit("drain")
  }
  destroy(): this {
    this.writable = false
    this.emit("close")
    return this
  }
}

const given = () => {
  const client = new Client()
  const output = new SocketOutput(client, new LoopBudget(1024 * 1024))
  return { client, output, write: (text: string) => output.write(Buffer.from(text)) }
}

it("a client that reads gets every write at once", () => {
  const { client, write } = given()
  expect(write("a")).toBe(undefined)
  expect(write("b")).toBe(undefined)
  expect(client.taken).toEqual(["a", "b"])
})

it.effect("a client that does not read gets one write, and the others in their order once it reads", () =>
  Effect.gen(function* () {
    const { client, output, write } = given()
    client.isReading = false
    expect(write("a")).toBe(undefined)
    expect(output.isFree).toBe(false)
    const writers = yield* Effect.forkChild(
      Effect.forEach(["b", "c", "d"], (text) => write(text) ?? Effect.void, { concurrency: 3 })
    )
    yield* TestClock.adjust("59 seconds")
    expect(client.taken).toEqual(["a"])
    client.read()
    yield* Fiber.join(writers)
    expect(client.taken).toEqual(["a", "b", "c", "d"])
    expect(output.isFree).toBe(true)
  })
)

it.effect("a client that reads nothing for a minute is dropped, and its writers go on", () =>
  Effect.gen(function* () {
    const { client, write } = given()
    client.isReading = false
    write("a")
    const writers = yield* Effect.forkChild(
      Effect.forEach(["b", "c"], (text) => write(text) ?? Effect.void, { concurrency: 2 })
    )
    yield* TestClock.adjust("60 seconds")
    yield* Fiber.join(writers)
    expect(client.taken).toEqual(["a"])
    expect(client.writable).toBe(false)
    expect(write("d")).toBe(undefined)
  })
)
