/** Tests what a client receives while its answer is held back, under a test clock. */
import { describe, expect } from "@effect/vitest"
import { Timer } from "@holdfast/journal"
import type { Dialect } from "@holdfast/providers/dialects"
import type { Failure } from "@holdfast/wire"
import { Context, Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as ClientAnswer from "../../src/gateway/ClientAnswer.ts"
import * as It from "../It.ts"

const CALLS = {
  chat: { format: "chat", framing: "events", model: "m" },
  messages: { format: "messages", framing: "events", model: "m" },
  responses: { format: "responses", framing: "events", model: "m" },
  gemini: { format: "gemini", framing: "array", model: "m" },
  document: { format: "chat", framing: "document", model: "m" }
} satisfies Record<string, Dialect.Call>

const FAILURE: Failure.Failure = { reason: "overloaded", message: "Overloaded", status: 529, retryable: true }

/** A client whose connection notes what is written, with the seconds at which it was. */
const connect = Effect.fnUntraced(function* (call: Dialect.Call, userAgent?: string) {
  const written: Array<readonly [second: number, what: string]> = []
  const clock = yield* Effect.clockWith(Effect.succeed)
  const note = (what: string): unknown => {
    written.push([clock.currentTimeMillisUnsafe() / 1000, what])
    return response
  }
  const response = {
    destroyed: false,
    sendDate: true,
    destroy: () => note("cut"),
    end: () => note("end"),
    once: () => response,
    write: (bytes: Uint8Array | string) => note(Buffer.from(bytes as string).toString()) === response,
    writeHead: (status: number, _text?: unknown, headers?: unknown) =>
      note(Array.isArray(headers) && headers.length > 0 ? `head ${status} ${headers.join(": ")}` : `head ${status}`),
    writeProcessing: () => note("102")
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The parts that an answer is written by.
  const client = new ClientAnswer.ClientAnswer(response as unknown as ClientAnswer.ClientResponse, call, userAgent)
  const { at } = Context.get(yield* Layer.build(Timer.layer), Timer.Timer)
  client.hold({ at, now: () => clock.currentTimeMillisUnsafe() })
  return { client, written, response }
})

const HEAD = { status: 200, statusText: "OK", headers: ["content-type", "text/event-stream"] }

describe("a client that waits", () => {
  It.effect("rule X13: for a stream has a head within 25 s, and then a heartbeat every 10 s", function* () {
    const { written } = yield* connect(CALLS.chat)
    yield* TestClock.adjust(Duration.seconds(45))
    expect(written).toEqual([
      [20, "head 200"],
      [20, ": ping\n\n"],
      [30, ": ping\n\n"],
      [40, ": ping\n\n"]
    ])
  })

  It.effect("is written to with all others at whole seconds, and never later than it would be alone", function* () {
    yield* TestClock.adjust("250 millis")
    const first = yield* connect(CALLS.chat)
    yield* TestClock.adjust("700 millis")
    const second = yield* connect(CALLS.chat)
    yield* TestClock.adjust("35 seconds")
    const beats = ({ written }: typeof first) => written.flatMap(([at, what]) => (what.startsWith(":") ? [at] : []))
    expect([beats(first), beats(second)]).toEqual([
      [20, 30],
      [20, 30]
    ])
  })

  It.effect("rule X13: has the heartbeat that holds it", function* () {
    const beatOf = Effect.fnUntraced(function* (call: Dialect.Call, userAgent?: string) {
      const { written } = yield* connect(call, userAgent)
      yield* TestClock.adjust(Duration.seconds(25))
      return written.at(-1)?.[1]
    })
    expect(yield* beatOf(CALLS.messages, "Anthropic/JS 1.12.0")).toMatch(/^event: ping\n/)
    expect(yield* beatOf(CALLS.messages, "claude-cli/2.1.330 (external, cli)")).toMatch(/^event: message_delta\n/)
    expect(yield* beatOf(CALLS.responses, "codex_exec/0.169.0")).toMatch(/^event: keepalive\n/)
    expect(yield* beatOf(CALLS.gemini)).toBe("\n")
  })

  It.effect("for one document has 102 every 10 s, and after 9 minutes a head and white space", function* () {
    const { written } = yield* connect(CALLS.document)
    yield* TestClock.adjust(Duration.minutes(9.4))
    const seconds = (what: string) => written.filter(([, each]) => each === what).map(([second]) => second)
    expect([seconds("102"), seconds("head 200")]).toEqual([Array.from({ length: 53 }, (_, i) => (i + 1) * 10), [540]])
    expect(seconds("\n")).toEqual([540, 550, 560])
  })

  It.effect("receives no heartbeat once its answer has begun", function* () {
    const { client, written } = yield* connect(CALLS.chat)
    yield* TestClock.adjust(Duration.seconds(25))
    client.begin(HEAD, [])
    client.write(Buffer.from("data: 1\n\n"), () => {})
    yield* TestClock.adjust(Duration.minutes(2))
    expect([written.slice(2), client.hasContent]).toEqual([[[25, "data: 1\n\n"]], true])
  })
})

It.effect("an answer that begins at once has the endpoint's head with its length, and headers of ours", function* () {
  const { client, written } = yield* connect(CALLS.chat)
  client.begin({ ...HEAD, headers: ["content-length", "9"] }, ["x-own", "1"])
  expect(written).toEqual([[0, "head 200 content-length: 9: x-own: 1"]])
})

describe("a call that failed for good", () => {
  const failed = Effect.fnUntraced(function* (call: Dialect.Call, after: Duration.Duration) {
    const { client, written } = yield* connect(call)
    yield* TestClock.adjust(after)
    client.fail(FAILURE)
    yield* TestClock.adjust(Duration.minutes(1)) // nothing follows
    return written.map(([, what]) => what)
  })

  It.effect("has its true status while no head has left", function* () {
    expect((yield* failed(CALLS.messages, Duration.seconds(5)))[0]).toBe("head 529")
    expect((yield* failed(CALLS.document, Duration.minutes(8))).find((what) => what !== "102")).toBe("head 529")
  })

  const REFUSAL = {
    head: {
      status: 529,
      statusText: "Overloaded",
      headers: ["x-limit", "five hours", "content-length", "9", "set-cookie", "a=1"]
    },
    body: [Buffer.from('{"type":"error","error":{"type":"overloaded_error","message":"Later","resets":7}}')]
  }

  const givenUp = (
    call: Dialect.Call,
    after: Duration.Duration,
    { refusal = REFUSAL, failure = FAILURE }: { refusal?: ClientAnswer.Refusal; failure?: Failure.Failure } = {}
  ) =>
    Effect.gen(function* () {
      const { client, response, written } = yield* connect(call)
      client.refused(refusal)
      yield* TestClock.adjust(after)
      client.giveUp(failure)
      yield* TestClock.adjust(Duration.minutes(1))
      // The endpoint's own date counts where its head was passed on.
      expect(written.some(([, what]) => what.includes("x-limit"))).toBe(!response.sendDate)
      return written.map(([, what]) => what).filter((what) => what !== "102")
    })

  It.effect("rule X13: has the endpoint's last refusal as it came, while no head has left", function* () {
    for (const [call, after] of [
      [CALLS.messages, Duration.seconds(5)],
      [CALLS.document, Duration.minutes(8)]
    ] as const) {
      expect(yield* givenUp(call, after)).toEqual(["head 529 x-limit: five hours", String(REFUSAL.body[0]), "end"])
    }
  })

  It.effect("rule X13: has the endpoint's own error in its stream after a head of ours", function* () {
    const minute = Duration.minutes(1)
    const frame = `event: error\ndata: ${String(REFUSAL.body[0])}\n\n`
    expect((yield* givenUp(CALLS.messages, minute)).slice(-2)).toEqual([frame, "end"])
    const coded = { ...REFUSAL, body: [Buffer.from("coded")], decoded: REFUSAL.body }
    expect(yield* givenUp(CALLS.messages, minute, { refusal: coded })).toEqual(yield* givenUp(CALLS.messages, minute))
    expect((yield* givenUp(CALLS.responses, minute)).at(-2)).toMatch(/"error":\{"message":"Later".*"resets":7\}/u)
    expect((yield* givenUp(CALLS.gemini, minute)).at(-2)).toBe(`[${String(REFUSAL.body[0])}]`)
    const frames = 'data: {"error":{"message":"in a stream"}}\n\n'
    const inStream = { ...REFUSAL, head: HEAD, body: [Buffer.from(frames)] }
    expect((yield* givenUp(CALLS.chat, minute, { refusal: inStream })).slice(-2)).toEqual([frames, "end"])
    expect((yield* givenUp(CALLS.document, Duration.minutes(10))).at(-1)).toBe("cut")
  })

  It.effect("has an error of Holdfast's where the endpoint refused nothing: a page, a cut, or a limit", function* () {
    const second = Duration.seconds(1)
    const refused = Effect.fnUntraced(function* (refusal: Partial<ClientAnswer.Refusal>, failure = FAILURE) {
      const [, body] = yield* givenUp(CALLS.chat, second, { refusal: { ...REFUSAL, ...refusal }, failure })
      return body === String((refusal.body ?? REFUSAL.body)[0])
    })
    for (const [status, reason, isPassed] of [
      [200, "invalid-response", false],
      [299, "network", false],
      [300, "timeout", true],
      [529, "invalid-response", true]
    ] as const)
      expect(yield* refused({ head: { ...REFUSAL.head, status } }, { ...FAILURE, reason })).toBe(isPassed)
    const spent: Failure.Failure = { ...FAILURE, shared: true, code: "spend-limit" }
    expect(yield* refused({}, spent)).toBe(false)
    const [large, most] = [65, 64].map((kib) => [Buffer.alloc(kib * 1024)])
    expect([yield* refused({ body: large ?? [] }), yield* refused({ decoded: large ?? [] })]).toEqual([false, false])
    expect(yield* refused({ body: most ?? [] })).toBe(true)
  })

  It.effect("has the error in its format after a head of ours, or a cut where the format has none", function* () {
    const frames = (yield* failed(CALLS.messages, Duration.minutes(1))).slice(-2)
    expect(frames).toEqual([expect.stringMatching(/^event: error\n.*Overloaded/su), "end"])
    expect((yield* failed(CALLS.document, Duration.minutes(10))).at(-1)).toBe("cut")
  })
})
