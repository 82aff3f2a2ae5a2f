/** Tests one attempt over prepared responses; tests that need a socket are in `Transport.int.test.ts`. */
import { describe, expect, it } from "@effect/vitest"
import { ProviderCall, ResponseLimit, ResponseProgress } from "@holdfast/kernel/host"
import { Cause, Deferred, Effect, Exit, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Decoder from "../src/decoding/Decoder.ts"
import * as PlainBody from "../src/http/PlainBody.ts"
import * as OpenAi from "../src/openai/Response.ts"
import * as KeyRedaction from "../src/KeyRedaction.ts"
import * as HttpAttempt from "../src/transport/HttpAttempt.ts"
import { KEY, openAiCompatible as dialect, request } from "./harness/Dialect.ts"
import { calls, run, text, usage } from "./harness/AttemptRun.ts"
import * as HeardCall from "./harness/HeardCall.ts"
import { given } from "./harness/Posted.ts"

interface ScriptedBody {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly pieces: ReadonlyArray<string | Uint8Array>
  /** What follows the pieces; by default the body ends. */
  readonly after?: "end" | "broken" | "nothing" | "endless"
  readonly most?: number
}

/** Plays a response, each piece in a read of its own. */
const play = async ({ broken, data, end, head, read }: ReturnType<typeof given>, body: ScriptedBody): Promise<void> => {
  const { after = "end", headers = {}, pieces, status = 200 } = body
  await undefined
  head(status, headers)
  for (const piece of pieces) {
    data(piece)
    await Effect.runPromise(read)
  }
  if (after === "end") end()
  if (after === "broken") broken(Object.assign(new Error("reset"), { code: "ECONNRESET" }))
  if (after === "endless") for (let n = 0; n < 100; n++) data(new Uint8Array(1_000_000))
}

const providerOf = (post: HttpAttempt.Options["post"], most = ResponseLimit.MOST_CHARACTERS) =>
  ProviderCall.provider((_request, world, listener) =>
    HttpAttempt.begin(
      {
        post,
        machine: () => OpenAi.make((n) => `id${n}`),
        conceal: KeyRedaction.conceal([Redacted.make(KEY)]),
        most
      },
      world,
      listener
    )
  )

/** Runs attempts with the given response; returns how they end, and the numbers of requests and of connections that were closed. */
const attempt = (body: ScriptedBody) => {
  const client = given()
  const provider = providerOf((listener) => {
    const call = client.post(listener)
    void play(client, body)
    return call
  }, body.most)
  return Effect.map(run(provider), (ending) => ({ ...ending, asked: client.calls.posts, closed: client.calls.closes }))
}

const hi = dialect.delta("Hi")
const stopped = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
const done = "data: [DONE]\n\n"

/** The time after which an attempt without further data ends. */
const endsAfter = (body: ScriptedBody) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(attempt({ ...body, after: "nothing" }), { startImmediately: true })
    yield* Effect.promise(() => new Promise(setImmediate)) // the pieces come
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
        const { failure, isSuccess } = yield* attempt({ pieces, after: "broken" })
        expect(failure, pieces.join()).toMatchObject({ reason: "network", code: "ECONNRESET", retryable: true })
        expect(isSuccess).toBe(false)
      }
      for (const pieces of [
        [hi, stopped],
        [hi, stopped, done]
      ]) {
        expect(yield* attempt({ pieces, after: "broken" })).toMatchObject({ isSuccess: true, failure: undefined })
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
      const fiber = yield* Effect.forkChild(attempt({ pieces: [hi, stopped], after: "nothing" }), {
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
      const largest = long.padEnd(Decoder.mostOfFrame(100))
      expect((yield* attempt({ pieces: [largest], most: 100 })).isSuccess).toBe(true)
      const endless = yield* attempt({ pieces: ["{"], after: "endless", most: 99 })
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

describe("a document, and an error's text", () => {
  const SPLIT = [...new TextEncoder().encode(JSON.stringify({ error: { message: "aü🙂b" } }))].map((byte) =>
    Uint8Array.of(byte)
  )

  it.effect("a character that is split by a read is whole", () =>
    Effect.gen(function* () {
      for (const status of [200, 500]) {
        expect((yield* attempt({ status, pieces: SPLIT })).emitted?.message).toContain("aü🙂b")
      }
    })
  )

  it.effect("rule C8: each read of a document with more than blanks is progress, including the first one", () =>
    Effect.gen(function* () {
      let calls = 0
      yield* attempt({ pieces: ["{", " ", '"a"', "\n", ":1}"] }).pipe(
        Effect.provideService(ResponseProgress.ResponseProgress, () => calls++)
      )
      expect(calls).toBe(3)
    })
  )

  it.effect("an error's text is what came until the connection broke, and its connection is closed behind 64 KiB", () =>
    Effect.gen(function* () {
      const error = '{"error":{"message":"no"}}'
      expect((yield* attempt({ status: 500, pieces: [error], after: "broken" })).emitted?.message).toBe("no")
      const long = yield* attempt({ status: 500, pieces: ["x".repeat(65_536)], after: "nothing" })
      expect([long.emitted?.status, long.closed > 0]).toEqual([500, true])
    })
  )

  it.effect("one timer limits an error's text, however many reads it has", () =>
    Effect.gen(function* () {
      const world = yield* Effect.flatMap(Effect.scope, ProviderCall.worldOf)
      const client = given()
      let timers = 0
      const after: typeof world.after = (...wait) => (timers++, world.after(...wait))
      const listener = { events: () => true, progress: () => {}, end: () => {} }
      const attempt = ProviderCall.of(providerOf(client.post))(request, { ...world, after }, listener)
      client.head(500)
      for (const piece of ["a", "b"]) {
        client.data(piece)
        yield* client.read
      }
      expect(timers).toBe(1)
      attempt.cancel()
    })
  )

  it.effect("an error's text has a time limit of five seconds, also where nothing of it comes", () =>
    Effect.gen(function* () {
      for (const pieces of [[], ["Half"]]) {
        const { emitted, passedMs } = yield* endsAfter({ status: 500, pieces })
        expect([emitted?.status, passedMs]).toEqual([500, PlainBody.MAX_WAIT_MS])
      }
    })
  )
})

describe("a text that comes", () => {
  /** Reads that a test gives, and what comes of each. */
  const listening = Effect.fnUntraced(function* (act: () => Effect.Effect<void> | undefined = () => undefined) {
    const client = given()
    const provider = providerOf(client.post)
    const seen: Array<string> = []
    const fiber = yield* HeardCall.forEach(provider, request, (events) => {
      seen.push(events.map((event) => ("delta" in event ? event.delta : event.type)).join(" "))
      return act()
    }).pipe(
      Effect.as("done"),
      Effect.catch(({ failure }) => Effect.succeed(failure.reason)),
      Effect.forkChild({ startImmediately: true })
    )
    const give = (...said: ReadonlyArray<string>) => {
      for (const each of said) client.data(each)
      return client.read
    }
    client.head()
    for (const said of ["a", "b"]) yield* give(dialect.delta(said))
    return { ...client, fiber, give, seen }
  })

  it.effect("gives the events of a read with the read, whatever frames it cuts, and however many chunks it has", () =>
    Effect.gen(function* () {
      const { give, seen } = yield* listening()
      yield* give(dialect.delta("c") + dialect.delta("d").slice(0, 9))
      yield* give(dialect.delta("d").slice(9))
      yield* give(": ping\n\n")
      yield* give(dialect.delta("e"), dialect.delta("f"))
      expect(seen).toEqual(["a", "b", "c", "d", "e f"])
    })
  )

  it.effect("its end comes with what came in the same read", () =>
    Effect.gen(function* () {
      const { end, fiber, give, seen } = yield* listening()
      yield* give(dialect.delta("c") + stopped)
      expect(seen).toEqual(["a", "b", "c"])
      yield* give(done)
      end()
      expect([yield* Fiber.join(fiber), seen]).toEqual(["done", ["a", "b", "c", "finish"]])
    })
  )

  it.effect("rule C3, C6: an error in it is emitted, and a connection that ends or breaks fails it", () =>
    Effect.gen(function* () {
      const failed = yield* listening()
      yield* failed.give(dialect.delta("c") + 'data: {"error":{"message":"Overloaded","type":"overloaded_error"}}\n\n')
      expect([yield* Fiber.join(failed.fiber), failed.seen]).toEqual(["done", ["a", "b", "c error"]])
      const ended = yield* listening()
      ended.end()
      expect(yield* Fiber.join(ended.fiber)).toBe("network")
      const cut = yield* listening()
      cut.broken(new Error("cut"))
      expect([yield* Fiber.join(cut.fiber), cut.seen]).toEqual(["network", ["a", "b"]])
    })
  )

  it.effect("beyond 256 KiB that are not taken the connection is paused, and resumed once they are", () =>
    Effect.gen(function* () {
      const isTaken = Deferred.makeUnsafe<void>()
      const { calls, data, fiber, end, give } = yield* listening(() => Deferred.await(isTaken))
      const frame = new TextEncoder().encode(`: ${"x".repeat(65_531)}\n\n\n`)
      const upTo256KiB = frame.subarray(dialect.delta("b").length) // which is held, too
      expect([frame, frame, frame, upTo256KiB].map(data)).toEqual([true, true, true, true])
      expect([data(frame), calls.resumes]).toEqual([false, 0])
      Deferred.doneUnsafe(isTaken, Effect.void)
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve)))
      yield* Effect.repeat(
        Effect.promise(() => new Promise(setImmediate)),
        { until: () => calls.resumes > 0 }
      )
      yield* give(stopped + done)
      end()
      expect([yield* Fiber.join(fiber), calls.resumes]).toEqual(["done", 1])
    })
  )

  it.effect(
    "a cancelled attempt closes its connection and gets nothing more, and a listener that throws is a defect",
    () =>
      Effect.gen(function* () {
        const left = yield* listening()
        yield* Fiber.interrupt(left.fiber)
        expect(left.calls.closes).toBeGreaterThan(0)
        yield* left.give(dialect.delta("c"))
        expect(left.seen).toEqual(["a", "b"])
        const bug = new Error("a bug")
        const thrown = yield* listening(() => {
          throw bug
        }).pipe(Effect.exit)
        const fiber = Exit.isSuccess(thrown) ? thrown.value.fiber : undefined
        const exit = fiber && (yield* Fiber.await(fiber))
        expect(exit && Exit.isFailure(exit) && Cause.squash(exit.cause)).toBe(bug)
      })
  )

  it.effect("a listener that asks for more within its events is called again behind them", () =>
    Effect.gen(function* () {
      const world = yield* Effect.flatMap(Effect.scope, ProviderCall.worldOf)
      const client = given()
      const seen: Array<string> = []
      const attempt = ProviderCall.of(providerOf(client.post))(request, world, {
        events: () => {
          seen.push("events")
          attempt.more()
          seen.push("taken")
          return false
        },
        progress: () => {},
        end: () => seen.push("end")
      })
      client.head()
      client.data(hi + stopped)
      client.end()
      yield* client.read
      expect(seen).toEqual(["events", "taken", "events", "taken", "end"])
    })
  )

  it.effect("an attempt ends once, also if its listener throws at the end", () =>
    Effect.gen(function* () {
      const world = yield* Effect.flatMap(Effect.scope, ProviderCall.worldOf)
      const client = given()
      let ends = 0
      const attempt = ProviderCall.of(providerOf(client.post))(request, world, {
        events: () => false,
        progress: () => {},
        end: () => {
          ends++
          throw new Error("a bug")
        }
      })
      client.head()
      client.data(hi)
      yield* client.read
      client.end()
      yield* client.read
      expect(() => attempt.more()).toThrow("a bug")
      expect(ends).toBe(1)
    })
  )

  it.effect(
    "HttpAttempt.A2: an attempt that is over closes its connection, before its listener takes the last events",
    () =>
      Effect.gen(function* () {
        const world = yield* Effect.flatMap(Effect.scope, ProviderCall.worldOf)
        const client = given()
        const seen: Array<string> = []
        const attempt = ProviderCall.of(providerOf(client.post))(request, world, {
          events: (events) => {
            seen.push(...events.map(({ type }) => type))
            return false
          },
          progress: () => {},
          end: () => seen.push("end")
        })
        client.head()
        client.data(dialect.error)
        yield* client.read
        expect([seen, client.calls.closes]).toEqual([["error"], 1])
        attempt.more()
        expect(seen).toEqual(["error", "end"])
      })
  )

  it.effect("rule D3: a connection that fails or ends before its response has one is a network failure", () =>
    Effect.gen(function* () {
      for (const code of ["ECONNRESET", undefined]) {
        const client = given()
        const fiber = yield* Effect.forkChild(run(providerOf(client.post)), { startImmediately: true })
        if (code === undefined) client.end()
        else client.broken(Object.assign(new Error("reset"), { code }))
        const { failure } = yield* Fiber.join(fiber)
        expect([failure?.reason, failure?.code]).toEqual(["network", code])
      }
    })
  )

  it.effect("an attempt whose listener throws closes its connection once, also after the wait for its end", () =>
    Effect.gen(function* () {
      const world = yield* Effect.flatMap(Effect.scope, ProviderCall.worldOf)
      const client = given()
      const ends: Array<ProviderCall.End> = []
      let isThrown = false
      ProviderCall.of(providerOf(client.post))(request, world, {
        events: () => {
          if (!isThrown) return true
          throw new Error("a bug")
        },
        progress: () => {},
        end: (end) => ends.push(end)
      })
      client.head()
      client.data(hi)
      yield* client.read
      isThrown = true
      client.data(dialect.delta("b") + stopped + done)
      yield* client.read
      expect([ends.length, client.calls.closes]).toEqual([1, 1])
      yield* TestClock.adjust(1000)
      expect([ends.length, client.calls.closes]).toEqual([1, 1])
    })
  )

  it.live("HttpAttempt.A2: a body that always brings more behind its terminal frame is closed in time", () =>
    Effect.gen(function* () {
      const connection = { isOpen: true }
      const provider = providerOf((listener) => {
        const fill = () => {
          while (connection.isOpen && listener.data(new Uint8Array(HttpAttempt.SLICE_BYTES)));
        }
        queueMicrotask(() => {
          listener.head({ status: 200, headers: {} })
          listener.data(new TextEncoder().encode(hi + stopped + done))
          fill()
        })
        return { resume: fill, close: () => void (connection.isOpen = false) }
      })
      expect(yield* run(provider)).toMatchObject({ isSuccess: true })
      expect(connection.isOpen).toBe(false)
    })
  )

  it.live("an endless body lets the event loop go on after each 64 KiB", () =>
    Effect.gen(function* () {
      const client = given()
      const most = { bytes: 0, since: 0, turns: 0 }
      let taken = 0
      const frame = new TextEncoder().encode(dialect.delta("x").repeat(100))
      const fill = () => {
        while (client.data(frame)) taken += frame.length
        taken += frame.length
      }
      const fiber = yield* Effect.forkChild(
        run(providerOf((listener) => ({ ...client.post(listener), resume: fill }))),
        {
          startImmediately: true
        }
      )
      client.head()
      fill()
      const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
      while (most.turns < 20) {
        yield* Effect.promise(turn)
        most.turns++
        most.bytes = Math.max(most.bytes, taken - most.since)
        most.since = taken
      }
      yield* Fiber.interrupt(fiber)
      // What is held, and what was read of it in one turn.
      expect(most.bytes).toBeLessThanOrEqual(2 * 262_144 + 2 * frame.length)
    })
  )
})
