/** Tests the main job: a provider fails in every way, and the answer arrives once. */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Duration, Effect, Fiber } from "effect"
import { WaitIsOver, withWait } from "./LongerWaits.ts"
import * as Service from "./Service.ts"

const { ErrorBody, answerFrames } = ScriptedServer

const overloaded = { status: 429, body: ErrorBody.envelope("overloaded", "anthropic") }
const badGateway = { status: 502, headers: { "content-type": "text/html" }, body: ErrorBody.page(502) }

const turn = Effect.fnUntraced(function* (
  service: Effect.Success<ReturnType<typeof Service.start>>,
  id: string,
  prompt = "Hello"
) {
  const answer = yield* service.call({
    path: `/v1/conversations/${id}/turns`,
    headers: { accept: "application/x-ndjson" },
    body: { prompt }
  })
  assert.strictEqual(answer.status, 200)
  return Service.eventsOf(answer.text)
})

const history = (service: Effect.Success<ReturnType<typeof Service.start>>, id: string) =>
  Effect.map(
    service.call({ path: `/v1/conversations/${id}/messages` }),
    ({ text }): ReadonlyArray<{ readonly role: string; readonly content: ReadonlyArray<{ readonly text?: string }> }> =>
      JSON.parse(text).messages
  )

const formats = [
  ["openai-compatible", "openai"],
  ["anthropic", "anthropic"]
] as const

describe.each(formats)("a turn over %s", (format, dialect) => {
  const answer = { frames: answerFrames(dialect, "The answer, once.") }

  /** The responses before the answer, and the reasons that a client gets. */
  const outages: ReadonlyArray<
    readonly [what: string, responses: ReadonlyArray<ScriptedServer.ScriptedResponse>, reasons: ReadonlyArray<string>]
  > = [
    [
      "429 with an overloaded body twice, then 502",
      [overloaded, overloaded, badGateway],
      ["overloaded", "overloaded", "server-error"]
    ],
    ["a connection that is cut before content", ["reset", "reset"], ["network", "network"]],
    ["a stream that is cut in its preamble", [{ frames: answer.frames.slice(0, 1), cutAfter: 1 }], ["network"]],
    ["a stream that stalls before content", [{ frames: [], stallAfter: 0 }], ["timeout"]],
    ["an error inside a 200 stream", [{ frames: [ScriptedServer.errorFrame(dialect, "overloaded")] }], ["overloaded"]],
    [
      "an HTML page with status 200",
      [{ status: 200, headers: { "content-type": "text/html" }, body: ErrorBody.page(502) }],
      ["invalid-response"]
    ],
    ["an empty 200", [{ status: 200, body: "" }], ["network"]]
  ]

  it.live.each(outages)(
    "rule D5: outlives %s, announces each wait in order, and answers once",
    ([what, responses, reasons]) =>
      withWait(
        0.5,
        Effect.fnUntraced(function* (seconds) {
          const isStalled = what.includes("stalls")
          const service = yield* Service.start({
            format,
            // Without a stall, an answer may take as long as the machine needs.
            retry: isStalled
              ? { ...Service.QUICK, requestTimeout: { firstContent: Duration.seconds(seconds) } }
              : Service.QUICK
          })
          service.provider.respond(...responses, answer)
          service.provider.fallback(answer)
          const id = yield* service.create()
          const events = yield* turn(service, id)

          const retries = events.flatMap((event) => (event.type === "provider-retry" ? [event] : []))
          // Every call took longer than the limit, because of the machine.
          if (isStalled && retries.length > 1 && retries.every(({ reason }) => reason === "timeout"))
            return yield* new WaitIsOver()
          assert.deepStrictEqual(
            retries.map(({ reason }) => reason),
            reasons
          )
          assert.deepStrictEqual(
            retries.map(({ attempt }) => attempt),
            reasons.map((_, i) => i)
          )
          assert.deepStrictEqual(
            retries.map(({ delayMs }) => delayMs),
            [10, 20, 30].slice(0, reasons.length)
          )
          assert.strictEqual(Service.shown(events), "The answer, once.")
          assert.isBelow(
            events.findLastIndex(({ type }) => type === "provider-retry"),
            events.findIndex(({ type }) => type === "text-delta")
          )
          assert.strictEqual(events.at(-1)?.type, "turn-end")
          // Rule C9: one request per attempt.
          assert.strictEqual(service.provider.count(), reasons.length + 1)
          // Rule D6: the history has the prompt and the answer alone.
          const messages = yield* history(service, id)
          assert.deepStrictEqual(
            messages.map(({ role }) => role),
            ["user", "assistant"]
          )
          assert.strictEqual(messages[1]?.content.at(-1)?.text, "The answer, once.")
        })
      )
  )

  it.live("rule D4: does not retry a stream that is cut in the middle of its answer, and keeps the text so far", () =>
    Effect.gen(function* () {
      const service = yield* Service.start({ format })
      service.provider.respond({ frames: answer.frames, cutAfter: answer.frames.length - 3 }, answer)
      const id = yield* service.create()
      const events = yield* turn(service, id)
      const end = events.at(-1)
      assert.isTrue(end?.type === "turn-end" && end.status === "failed")
      assert.notStrictEqual(Service.shown(events), "")
      assert.isTrue("The answer, once.".startsWith(Service.shown(events)))
      assert.strictEqual(service.provider.count(), 1)
      assert.isFalse(events.some(({ type }) => type === "provider-retry"))
    })
  )

  it.live("rule D7: fails with the last error, persisted, once the schedule is spent", () =>
    Effect.gen(function* () {
      const service = yield* Service.start({ format, retry: { ...Service.QUICK, maxRetries: 2 } })
      service.provider.respond(overloaded, overloaded, badGateway)
      const id = yield* service.create()
      const events = yield* turn(service, id)
      assert.deepStrictEqual(
        events.slice(-4).map(({ type }) => type),
        ["retry-end", "message", "error", "turn-end"]
      )
      assert.strictEqual(service.provider.count(), 3)
      const messages = yield* history(service, id)
      assert.deepStrictEqual(
        messages.map(({ role }) => role),
        ["user", "assistant"]
      )
    })
  )
})

describe("a conversation", () => {
  const answer = (text: string) => ({ frames: answerFrames("openai", text) })

  it.live("runs one turn at a time; the others wait in order", () =>
    Effect.gen(function* () {
      const service = yield* Service.start()
      const gate = ScriptedServer.gate()
      service.provider.respond({ frames: [gate, ...answerFrames("openai", "one")] }, answer("two"), answer("three"))
      const id = yield* service.create()
      const post = (prompt: string) => Effect.forkChild(turn(service, id, prompt), { startImmediately: true })
      const first = yield* post("1")
      yield* gate.reached
      const second = yield* post("2")
      yield* queued(service, id, 1)
      const third = yield* post("3")
      yield* queued(service, id, 2)
      assert.strictEqual(service.provider.count(), 1)
      yield* gate.open
      for (const [fiber, text] of [
        [first, "one"],
        [second, "two"],
        [third, "three"]
      ] as const) {
        assert.strictEqual(Service.shown(yield* Fiber.join(fiber)), text)
      }
      const prompts = (yield* history(service, id))
        .filter(({ role }) => role === "user")
        .map(({ content }) => content[0]?.text)
      assert.deepStrictEqual(prompts, ["1", "2", "3"])
    })
  )

  it.live("the same turn id again is the same turn", () =>
    Effect.gen(function* () {
      const service = yield* Service.start()
      service.provider.respond(answer("once"))
      const id = yield* service.create()
      const post = { path: `/v1/conversations/${id}/turns`, body: { prompt: "Hi", turnId: "mine" } }
      const [a, b] = [yield* service.call(post), yield* service.call(post)]
      assert.deepStrictEqual(JSON.parse(a.text), { turnId: "mine", status: "completed", text: "once" })
      assert.deepStrictEqual(JSON.parse(b.text), JSON.parse(a.text))
      assert.strictEqual(service.provider.count(), 1)
      const other = yield* service.call({ ...post, body: { prompt: "Something else", turnId: "mine" } })
      assert.strictEqual(other.status, 409)
    })
  )

  it.live(
    "rule M1: a manual retry runs from the last user message, without the failed response and without a new message",
    () =>
      Effect.gen(function* () {
        const service = yield* Service.start()
        const frames = answerFrames("openai", "Half an answer")
        service.provider.respond({ frames, cutAfter: frames.length - 3 }, answer("A whole one"))
        const id = yield* service.create()
        yield* turn(service, id, "Tell me")
        const again = yield* service.call({ path: `/v1/conversations/${id}/retry`, body: {} })
        assert.strictEqual(JSON.parse(again.text).text, "A whole one")
        const [first, second] = service.provider.requests().map(({ body }) => JSON.parse(String(body)).messages)
        assert.deepStrictEqual(second, first)
        assert.deepStrictEqual(
          (yield* history(service, id)).map(({ role }) => role),
          ["user", "assistant", "assistant"]
        )
        // There is nothing left to retry now.
        assert.strictEqual((yield* service.call({ path: `/v1/conversations/${id}/retry`, body: {} })).status, 409)
      })
  )
})

describe("commands on a turn that waits", () => {
  const answer = { frames: answerFrames("openai", "At last") }

  const waiting = Effect.fnUntraced(function* () {
    const service = yield* Service.start({ retry: Service.LONG })
    service.provider.respond(overloaded)
    service.provider.fallback(answer)
    const id = yield* service.create()
    const live = yield* service.open({
      path: `/v1/conversations/${id}/turns`,
      headers: { accept: "application/x-ndjson" },
      body: { prompt: "Hello" }
    })
    yield* live.until("provider-retry")
    const post = (command: string) => service.call({ method: "POST", path: `/v1/conversations/${id}/${command}` })
    const state = Effect.map(service.call({ path: `/v1/conversations/${id}` }), ({ text }) => JSON.parse(text))
    return { service, id, live, post, state }
  })

  it.live("rule P15: its state shows that it retries, the attempt, and when the next one is due", () =>
    Effect.gen(function* () {
      const { state } = yield* waiting()
      const now = yield* state
      assert.strictEqual(now.status, "retrying")
      assert.isTrue(now.isRetrying)
      assert.isTrue(now.autoRetryEnabled)
      assert.strictEqual(now.attempt, 0)
      assert.isAbove(now.retryAt, 0)
    })
  )

  it.live("rule X4: retry-now makes the next attempt at once", () =>
    Effect.gen(function* () {
      const { live, post, state } = yield* waiting()
      assert.strictEqual((yield* post("retry-now")).status, 202)
      const events = Service.eventsOf(yield* live.rest)
      assert.strictEqual(Service.shown(events), "At last")
      assert.strictEqual((yield* state).status, "idle")
    })
  )

  it.live("rule X4: wait-until moves the end of the wait, and a client gets the new time", () =>
    Effect.gen(function* () {
      const { live, service, id, state } = yield* waiting()
      const until = Date.now() + 7_200_000
      const path = `/v1/conversations/${id}/wait-until`
      assert.strictEqual((yield* service.call({ path, body: { until, commandId: "k1" } })).status, 202)
      yield* live.until(String(until))
      assert.strictEqual((yield* state).retryAt, until)
    })
  )

  it.live("rule X4: switch-target continues at once elsewhere; an unknown provider is refused", () =>
    Effect.gen(function* () {
      const { live, service, id } = yield* waiting()
      const path = `/v1/conversations/${id}/switch-target`
      assert.strictEqual((yield* service.call({ path, body: { model: "nowhere/m" } })).status, 400)
      yield* service.call({ path, body: { model: "scripted/another" } })
      const events = Service.eventsOf(yield* live.rest)
      assert.strictEqual(Service.shown(events), "At last")
      assert.isTrue(events.some((event) => event.type === "model-change" && event.to === "scripted/another"))
      assert.strictEqual(JSON.parse(String(service.provider.requests()[1]?.body)).model, "another")
    })
  )

  it.live("rule X4: a command that is sent twice is one command, also for a later wait", () =>
    Effect.gen(function* () {
      const { live, service, id, state } = yield* waiting()
      const command = { path: `/v1/conversations/${id}/retry-now`, body: { commandId: "once" } }
      service.provider.fallback({ status: 503, body: "" })
      yield* service.call(command)
      yield* live.until('"attempt":1')
      assert.strictEqual((yield* service.call(command)).status, 202)
      assert.strictEqual((yield* state).attempt, 1)
      assert.strictEqual(service.provider.count(), 2)
    })
  )

  it.live("rule P14: abort-retry ends the wait, and the turn with its last error", () =>
    Effect.gen(function* () {
      const { live, post } = yield* waiting()
      yield* post("abort-retry")
      const events = Service.eventsOf(yield* live.rest)
      const end = events.at(-1)
      assert.isTrue(end?.type === "turn-end" && end.status === "failed" && end.error?.reason === "overloaded")
      const retryEnd = events.find((event) => event.type === "retry-end")
      assert.isTrue(retryEnd?.type === "retry-end" && retryEnd.finalError === "Retry cancelled")
    })
  )

  it.live("rule D8: abort ends the wait at once and seals the turn as aborted, with no further attempt", () =>
    Effect.gen(function* () {
      const { live, post, service } = yield* waiting()
      yield* post("abort")
      const end = Service.eventsOf(yield* live.rest).at(-1)
      assert.isTrue(end?.type === "turn-end" && end.status === "aborted")
      assert.strictEqual(service.provider.count(), 1)
      // Twice has the same effect as once.
      assert.strictEqual((yield* post("abort")).status, 202)
    })
  )

  it.live("rule P15: with automatic retries switched off the first error ends the turn", () =>
    Effect.gen(function* () {
      const service = yield* Service.start()
      service.provider.respond(overloaded, answer)
      const id = yield* service.create()
      yield* service.call({ method: "PUT", path: `/v1/conversations/${id}/auto-retry`, body: { enabled: false } })
      const end = (yield* turn(service, id)).at(-1)
      assert.isTrue(end?.type === "turn-end" && end.status === "failed")
      assert.strictEqual(service.provider.count(), 1)
    })
  )

  it.live("rule P13: a client that waits for the answer as JSON gets it after the retries", () =>
    Effect.gen(function* () {
      const service = yield* Service.start()
      service.provider.respond(overloaded, badGateway, answer)
      const id = yield* service.create()
      const result = yield* service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt: "Hi" } })
      assert.strictEqual(JSON.parse(result.text).text, "At last")
    })
  )

  it.live("a client that disconnects does not end its turn", () =>
    Effect.gen(function* () {
      const { live, post, service, id } = yield* waiting()
      yield* live.hangUp
      yield* post("retry-now")
      const events = yield* service.open({ path: `/v1/conversations/${id}/events?after=0` })
      assert.include(yield* events.until("turn-end"), '"status":"completed"')
    })
  )

  it.live("rule X3: a client that connects during the wait gets the wait", () =>
    Effect.gen(function* () {
      const { service, id } = yield* waiting()
      const events = yield* service.open({ path: `/v1/conversations/${id}/events` })
      assert.include(yield* events.until("provider-retry"), "retryAt")
    })
  )
})

// --- internal

const queued = (
  service: Effect.Success<ReturnType<typeof Service.start>>,
  id: string,
  count: number
): Effect.Effect<void, Error> =>
  Effect.flatMap(service.call({ path: `/v1/conversations/${id}` }), ({ text }) =>
    JSON.parse(text).queued.length === count ? Effect.void : queued(service, id, count)
  )
