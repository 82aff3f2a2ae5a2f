import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import { Effect, Fiber, Stream } from "effect"
import { fromAsyncIterable } from "../src/FromAsyncIterable.ts"
import { request } from "./harness/Dialect.ts"
import { run, signal } from "./harness/AttemptRun.ts"

const finish: Provider.ProviderEvent = { type: "finish", finishReason: "stop" }

describe("FromAsyncIterable", () => {
  it.effect("rule C8: a generator's events are the stream; empty deltas are left out", () =>
    Effect.gen(function* () {
      const others: ReadonlyArray<Provider.ProviderEvent> = [
        { type: "usage", usage: {} },
        { type: "reasoning-end", signature: "" },
        finish
      ]
      const provider = fromAsyncIterable(async function* (asked) {
        yield { type: "text-delta", delta: "" }
        yield { type: "reasoning-delta", delta: "" }
        yield { type: "text-delta", delta: asked.target.model }
        yield { type: "reasoning-delta", delta: "hm" }
        yield* others
      })
      expect((yield* run(provider)).events).toEqual([
        { type: "text-delta", delta: "m" },
        { type: "reasoning-delta", delta: "hm" },
        ...others
      ])
    })
  )

  it.effect("rule C5: its errors are classified by their causes", () =>
    Effect.gen(function* () {
      const provider = fromAsyncIterable(async function* () {
        yield { type: "text-delta", delta: "a" } as const
        throw new Error("outer", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) })
      })
      const { events, failure } = yield* run(provider)
      expect(events.length).toBe(1)
      expect(failure).toMatchObject({ reason: "network", code: "ECONNRESET", retryable: true })
    })
  )

  it.effect("rule C13: its failures have no secrets, and are what the errors are", () =>
    Effect.gen(function* () {
      const quota = Object.assign(new Error("insufficient_quota for sk-a-key"), {
        status: 429,
        code: "insufficient_quota"
      })
      const provider = fromAsyncIterable(
        async function* () {
          yield* []
          throw quota
        },
        () => new Error("[redacted] for [redacted]")
      )
      const { failure } = yield* run(provider)
      expect(failure).toMatchObject({ reason: "quota-exhausted", status: 429, message: "[redacted] for [redacted]" })
      expect(JSON.stringify(failure)).not.toContain("insufficient_quota")
    })
  )

  it.effect("rule C10: a bug of the embedder is marked as one, thrown at once or later", () =>
    Effect.gen(function* () {
      const late = fromAsyncIterable(async function* () {
        yield* []
        throw new TypeError("x is not a function")
      })
      const early = fromAsyncIterable(() => {
        throw new TypeError("x is not a function")
      })
      expect((yield* run(late)).failure).toMatchObject({ defect: true })
      expect((yield* run(early)).failure).toMatchObject({ defect: true })
    })
  )

  it.effect("an interruption aborts the signal, and does not wait for the generator", () =>
    Effect.gen(function* () {
      const started = signal()
      let seen: AbortSignal | undefined
      const provider = fromAsyncIterable(async function* (_request, signal) {
        seen = signal
        started.give()
        await new Promise(() => {})
        yield finish
      })
      const fiber = yield* Effect.forkChild(run(provider, undefined, request))
      yield* started.given
      yield* Fiber.interrupt(fiber)
      expect(seen?.aborted).toBe(true)
    })
  )

  it.effect("an iterator is closed once when reading stops, and its reaction is ignored", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<() => Promise<IteratorResult<Provider.ProviderEvent>>> = [
        async () => ({ done: true, value: undefined }),
        () => Promise.reject(new Error("the network is gone")),
        () => {
          throw new Error("not even a promise")
        }
      ]
      for (const answer of answers) {
        let returned = 0
        const provider = fromAsyncIterable(() => ({
          [Symbol.asyncIterator]: () => ({
            next: async () => ({ done: false, value: { type: "text-delta", delta: "a" } as const }),
            return: () => {
              returned++
              return answer()
            }
          })
        }))
        const exit = yield* provider.stream(request).pipe(Stream.take(2), Stream.runDrain, Effect.exit)
        expect(exit._tag).toBe("Success")
        expect(returned).toBe(1)
      }
    })
  )

  it.effect("the signal aborts after the end, too, so that nothing is left running", () =>
    Effect.gen(function* () {
      let seen: AbortSignal | undefined
      yield* run(
        fromAsyncIterable(async function* (_request, signal) {
          seen = signal
          yield finish
        })
      )
      expect(seen?.aborted).toBe(true)
    })
  )
})
