import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { Config } from "../../../src/config/Config.ts"
import * as Start from "../../../src/storage/thread/Start.ts"
import * as Given from "../../config/Given.ts"

/** Threads that do nothing, counted; they end when they are told something. */
const idle = () => {
  const threads: Array<Worker> = []
  const start = () => {
    const thread = new Worker('require("node:worker_threads").parentPort.once("message", () => {})', { eval: true })
    threads.push(thread)
    return thread
  }
  return { threads, start }
}

const early = (file: unknown, start: () => Worker) =>
  Start.layerEarly.pipe(
    Layer.provide([Layer.succeed(Config, Given.config({ file })), Layer.succeed(Start.Start, start)])
  )

const end = (thread: Worker) => {
  const ended = once(thread, "exit")
  thread.terminate()
  return Effect.promise(() => ended)
}

describe("the first thread of a database", () => {
  it.live("is started before anybody asks for it, given to who asks first, and left to him", () =>
    Effect.gen(function* () {
      const { start, threads } = idle()
      const taken = yield* Effect.gen(function* () {
        const take = yield* Start.Start
        expect(threads).toHaveLength(1)
        const taken = take()
        expect(taken).toBe(threads[0])
        expect(take()).toBe(threads[1])
        return taken
      }).pipe(Effect.provide(early({}, start)))
      expect(taken.threadId).toBeGreaterThan(0)
      for (const thread of threads) yield* end(thread)
    })
  )

  it.live("ends with the service if nobody has come for it", () =>
    Effect.gen(function* () {
      const { start, threads } = idle()
      yield* Effect.provide(Effect.void, early({}, start))
      expect(threads.map(({ threadId }) => threadId)).toEqual([-1])
    })
  )

  it.live("is not waited for if it has died: who asks gets another", () =>
    Effect.gen(function* () {
      const { start, threads } = idle()
      yield* Effect.gen(function* () {
        const take = yield* Start.Start
        for (const thread of threads) yield* end(thread)
        expect(take()).toBe(threads[1])
      }).pipe(Effect.provide(early({}, start)))
      for (const thread of threads.slice(1)) yield* end(thread)
    })
  )

  it.live("is not started for memory, nor for PostgreSQL", () =>
    Effect.gen(function* () {
      const { start, threads } = idle()
      for (const database of [{ path: ":memory:" }, { url: "postgres://127.0.0.1/holdfast" }]) {
        yield* Effect.provide(Effect.void, early({ database }, start))
      }
      expect(threads).toEqual([])
    })
  )
})
