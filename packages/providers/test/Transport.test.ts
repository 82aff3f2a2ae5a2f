/** Tests one attempt over prepared responses; tests that need a socket are in `Transport.int.test.ts`. */
import { describe, expect, it } from "@effect/vitest"
import { ProviderCall, ResponseLimit, ResponseProgress } from "@holdfast/kernel/host"
import { PushSource } from "@holdfast/kernel/testing"
import { Cause, Effect, Fiber, Pull, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { type HttpResponse, Broken, type BytePull } from "../src/http/Http.ts"
import * as OpenAi from "../src/openai/Response.ts"
import * as KeyRedaction from "../src/KeyRedaction.ts"
import * as Transport from "../src/Transport.ts"
import { KEY, openAiCompatible as dialect, request } from "./harness/Dialect.ts"
import { calls, run, text, usage } from "./harness/AttemptRun.ts"

interface ScriptedBody {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly pieces: ReadonlyArray<string>
  /** The body after the pieces. */
  readonly after?: BytePull
  readonly most?: number
}

/** Runs attempts with the given response; returns how they end, and the number of requests. */
const attempt = ({ after = Cause.done(), headers = {}, most, pieces, status = 200 }: ScriptedBody) => {
  let asked = 0
  const answer = (): HttpResponse => {
    const left = [...pieces]
    const bytes = Effect.suspend((): BytePull => {
      const piece = left.shift()
      return piece === undefined ? after : Effect.succeed([new TextEncoder().encode(piece)])
    })
    return { status, headers, bytes, isWhole: () => false }
  }
  const provider = ProviderCall.provider((_request, world, listener) =>
    Transport.call(
      {
        post: () =>
          Effect.sync(() => {
            asked++
            return answer()
          }),
        machine: () => OpenAi.make((n) => `id${n}`),
        conceal: KeyRedaction.conceal([Redacted.make(KEY)]),
        most: most ?? ResponseLimit.MOST_CHARACTERS
      },
      world,
      listener
    )
  )
  return Effect.map(run(provider), (ending) => ({ ...ending, asked }))
}

const hi = dialect.delta("Hi")
const stopped = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
const done = "data: [DONE]\n\n"
const broken = Effect.fail(new Broken({ cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) }))

/** The time after which an attempt without further data ends. */
const endsAfter = (given: ScriptedBody) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(attempt({ ...given, after: Effect.never }), { startImmediately: true })
    let passedMs = 0
    while (fiber.pollUnsafe() === undefined) {
      yield* TestClock.adjust(10)
      passedMs += 10
    }
    return { ...(yield* Fiber.join(fiber)), passedMs }
  })

describe("Transport", () => {
  it.effect("rule C2, C9: every 2xx is a stream, no other status is, and each is requested once", () =>
    Effect.gen(function* () {
      for (const status of [200, 201, 299]) {
        const { asked, events, isSuccess } = yield* attempt({ status, pieces: [hi, stopped, done] })
        expect([status, isSuccess, text(events), asked]).toEqual([status, true, "Hi", 1])
      }
      for (const status of [199, 300, 304, 404, 599]) {
        const { asked, emitted, events } = yield* attempt({ status, pieces: [hi, stopped, done] })
        expect([status, emitted?.status, events.length, asked]).toEqual([status, status, 1, 1])
      }
    })
  )

  it.effect("rule C9: an attempt that has emitted an error is over, and makes no further request", () =>
    Effect.gen(function* () {
      for (const pieces of [["<html>"], ['{"error":{"message":"no"}}'], [dialect.error], ['{"models":[]}']]) {
        const { asked, events } = yield* attempt({ pieces })
        expect([events.map((event) => event.type), asked]).toEqual([["error"], 1])
      }
    })
  )

  it.effect("rule C6: blanks alone are no response; before a stream, a page or JSON they are skipped", () =>
    Effect.gen(function* () {
      for (const pieces of [[], ["\n"], [" ", "\r\n"]]) {
        expect((yield* attempt({ pieces })).failure).toMatchObject({ reason: "network", retryable: true })
      }
      expect(text((yield* attempt({ pieces: ["\n", "\n", hi, stopped] })).events)).toBe("Hi")
      expect((yield* attempt({ pieces: ["\n", "<html>"] })).emitted).toMatchObject({ reason: "invalid-response" })
      expect((yield* attempt({ pieces: ["\n", dialect.whole()] })).isSuccess).toBe(true)
    })
  )

  it.effect("rule D3: a connection failure fails the stream at any point before the model has stopped", () =>
    Effect.gen(function* () {
      for (const pieces of [[], ["\n"], [hi], ["{"]]) {
        const { failure, isSuccess } = yield* attempt({ pieces, after: broken })
        expect(failure, pieces.join()).toMatchObject({ reason: "network", code: "ECONNRESET", retryable: true })
        expect(isSuccess).toBe(false)
      }
      for (const pieces of [
        [hi, stopped],
        [hi, stopped, done]
      ]) {
        expect(yield* attempt({ pieces, after: broken })).toMatchObject({ isSuccess: true, failure: undefined })
      }
    })
  )

  it.effect("a last frame without its blank line is read, before the model has stopped and after it", () =>
    Effect.gen(function* () {
      const { isSuccess } = yield* attempt({ pieces: [hi, stopped.trimEnd()] })
      expect(isSuccess).toBe(true)
      const late = yield* attempt({ pieces: [hi, stopped, 'data: {"choices":[],"usage":{"prompt_tokens":7}}'] })
      expect([late.isSuccess, usage(late.events)]).toEqual([true, { inputTokens: 7 }])
    })
  )

  it.effect(
    "the attempt waits 1 s for usage after the model has stopped, and 250 ms for the end after the terminal frame",
    () =>
      Effect.gen(function* () {
        const counts = 'data: {"choices":[],"usage":{"prompt_tokens":7}}\n\n'
        const stop = yield* endsAfter({ pieces: [hi, stopped] })
        expect([stop.isSuccess, stop.passedMs]).toEqual([true, 1000])
        const last = yield* endsAfter({ pieces: [hi, stopped + done] })
        expect([last.isSuccess, last.passedMs]).toEqual([true, 250])
        const late = yield* endsAfter({ pieces: [hi, stopped, counts, done] })
        expect([late.isSuccess, late.passedMs, usage(late.events)]).toEqual([true, 1000, { inputTokens: 7 }])
      })
  )

  it.effect("rule C3: an error between the stop and the end of the body is emitted, and ends the wait", () =>
    Effect.gen(function* () {
      const { emitted, isSuccess, passedMs } = yield* endsAfter({ pieces: [hi, stopped, dialect.error] })
      expect({ emitted, isSuccess, passedMs }).toMatchObject({
        emitted: { reason: dialect.errorReason },
        isSuccess: false,
        passedMs: 0
      })
    })
  )

  it.effect("an interruption during the wait for the end interrupts the attempt", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(attempt({ pieces: [hi, stopped], after: Effect.never }), {
        startImmediately: true
      })
      yield* Fiber.interrupt(fiber)
      expect(fiber.pollUnsafe()).toMatchObject({ _tag: "Failure" })
    })
  )

  it.effect("rule C3: 64 KiB of a JSON error are read", () =>
    Effect.gen(function* () {
      const messageOf = Effect.fnUntraced(function* (length: number) {
        const error = (padding: string) => JSON.stringify({ error: { message: "no", padding } })
        const body = error("x".repeat(length - error("").length))
        expect(body.length).toBe(length)
        return (yield* attempt({ pieces: [body] })).emitted?.message
      })
      expect(yield* messageOf(100)).toBe("no")
      expect(yield* messageOf(65_536)).toBe("no")
      expect(yield* messageOf(65_537)).not.toBe("no")
    })
  )

  it.effect("rule C11: a JSON document beyond its limit has failed", () =>
    Effect.gen(function* () {
      const long = JSON.stringify({ choices: [{ message: { content: "x".repeat(100) }, finish_reason: "stop" }] })
      expect(text((yield* attempt({ pieces: [long], most: 100 })).events).length).toBe(100)
      const { emitted, events } = yield* attempt({ pieces: [long], most: 99 })
      expect(events.length).toBe(1)
      expect(emitted).toMatchObject({ reason: "invalid-response", retryable: false })
      expect(emitted?.message).toContain("99 characters")
      const endless = yield* attempt({ pieces: ["{"], after: Effect.sync(() => [new Uint8Array(1_000_000)]), most: 99 })
      expect(endless.emitted).toMatchObject({ reason: "invalid-response", retryable: false })
    })
  )

  it.effect("rule C1: an error in a stream is redacted, and its content beyond the message is kept", () =>
    Effect.gen(function* () {
      const error = { error: { message: `no ${KEY}`, type: "server_error", param: `the pool of ${KEY} is empty` } }
      const { events } = yield* attempt({ pieces: [hi, `data: ${JSON.stringify(error)}\n\n`] })
      expect(events.at(-1)).toMatchObject({
        type: "error",
        failure: { message: "no [redacted]" },
        body: JSON.stringify(error).replaceAll(KEY, "[redacted]")
      })
      const plain = yield* attempt({ pieces: [hi, 'data: {"error":{"message":"no"}}\n\n'] })
      expect(plain.events.at(-1)).not.toHaveProperty("body")
    })
  )

  it.effect("rule C3: headers and the frame's name are evidence of an error in a stream, too", () =>
    Effect.gen(function* () {
      const { emitted } = yield* attempt({
        headers: { "x-request-id": `req-${KEY}` },
        pieces: [hi, 'event: overloaded_error\ndata: {"message":"later"}\n\n']
      })
      expect(emitted).toMatchObject({
        reason: "overloaded",
        evidence: { "x-request-id": "req-[redacted]" }
      })
    })
  )

  it.effect("rule C8: a read that extends a call is progress, and any other is not", () =>
    Effect.gen(function* () {
      const [first, next] = dialect.endlessCall('{"a":1}')
      let reads = 0
      const pieces = [first, dialect.ping, next, dialect.ping, dialect.ping, stopped, done]
      const { events } = yield* attempt({ pieces }).pipe(
        Effect.provideService(ResponseProgress.ResponseProgress, () => reads++)
      )
      expect(calls(events)).toMatchObject([{ input: { a: 1 } }])
      expect(reads).toBe(2)
      yield* attempt({ pieces: [hi, dialect.ping, stopped] }).pipe(
        Effect.provideService(ResponseProgress.ResponseProgress, () => reads++)
      )
      expect(reads).toBe(2)
    })
  )
})

describe("a text that is pushed", () => {
  /** Reads that a test gives, and what comes of each. */
  const listening = Effect.fnUntraced(function* () {
    const source = PushSource.make<readonly [Uint8Array, ...ReadonlyArray<Uint8Array>], Broken>()
    const provider = ProviderCall.provider((_request, world, listener) =>
      Transport.call(
        {
          post: () => Effect.succeed({ status: 200, headers: {}, bytes: source.pull, isWhole: () => false }),
          machine: () => OpenAi.make((n) => `id${n}`),
          conceal: KeyRedaction.conceal([Redacted.make(KEY)]),
          most: ResponseLimit.MOST_CHARACTERS
        },
        world,
        listener
      )
    )
    const seen: Array<string> = []
    const fiber = yield* ProviderCall.forEach<never>(provider, request, (events) => {
      seen.push(events.map((event) => ("delta" in event ? event.delta : event.type)).join(" "))
      return undefined
    }).pipe(
      Pull.catchDone(() => Effect.succeed("done")),
      Effect.catch(({ failure }) => Effect.succeed(failure.reason)),
      Effect.forkChild({ startImmediately: true })
    )
    const give = (said: string) => source.give([new TextEncoder().encode(said)])
    for (const said of ["a", "b"]) give(dialect.delta(said))
    return { ...source, fiber, give, seen }
  })

  it.effect("T5: gives the events of a read with the read, whatever frames it cuts", () =>
    Effect.gen(function* () {
      const { calls, give, isPushing, seen } = yield* listening()
      give(dialect.delta("c") + dialect.delta("d").slice(0, 9))
      give(dialect.delta("d").slice(9))
      give(": ping\n\n")
      expect([seen, calls.pushes, isPushing()]).toEqual([["a", "b", "c", "d"], 4, true])
    })
  )

  it.effect("T4: its end is pulled, with what came in the same read", () =>
    Effect.gen(function* () {
      const { end, fiber, give, isPushing, seen } = yield* listening()
      give(dialect.delta("c") + stopped)
      expect([seen, isPushing()]).toEqual([["a", "b", "c"], false])
      give(done)
      end()
      expect([yield* Fiber.join(fiber), seen]).toEqual(["done", ["a", "b", "c", "finish"]])
    })
  )

  it.effect("rule C3, C6: an error in it is emitted, and a connection that ends or breaks fails it", () =>
    Effect.gen(function* () {
      const failed = yield* listening()
      failed.give(dialect.delta("c") + 'data: {"error":{"message":"Overloaded","type":"overloaded_error"}}\n\n')
      expect([yield* Fiber.join(failed.fiber), failed.seen]).toEqual(["done", ["a", "b", "c error"]])
      const ended = yield* listening()
      ended.end()
      expect(yield* Fiber.join(ended.fiber)).toBe("network")
      const cut = yield* listening()
      cut.end(broken)
      expect([yield* Fiber.join(cut.fiber), cut.seen]).toEqual(["network", ["a", "b"]])
    })
  )
})
