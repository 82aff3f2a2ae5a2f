import { assert, describe, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { Cause, Effect, Exit, Fiber, Option, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Simulated from "../src/Simulated.ts"
import * as Syntax from "../src/script/Syntax.ts"
import { type Asked, request } from "./Request.ts"

type Service = Provider.Provider["Service"]

/** The events of an attempt, and its failure. */
const attempt = (provider: Service, asked: Asked) =>
  Effect.gen(function* () {
    const events: Array<Provider.ProviderEvent> = []
    const exit = yield* provider.stream(request(asked)).pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.exit
    )
    const thrown = Exit.isFailure(exit) ? Option.getOrThrow(Cause.findErrorOption(exit.cause)).failure : undefined
    return { events, text: textOf(events), failure: emittedOf(events), thrown }
  })

const textOf = (events: ReadonlyArray<Provider.ProviderEvent>): string =>
  events.map((event) => (event.type === "text-delta" ? event.delta : "")).join("")

const emittedOf = (events: ReadonlyArray<Provider.ProviderEvent>): Provider.EmittedFailure | undefined =>
  events.flatMap((event) => (event.type === "error" ? [event.failure] : []))[0]

const typesOf = (events: ReadonlyArray<Provider.ProviderEvent>): ReadonlyArray<string> => [
  ...new Set(events.map((event) => event.type))
]

/** A request, started; its events so far are in `events`. */
const begin = (provider: Service, asked: Asked) =>
  Effect.gen(function* () {
    const events: Array<Provider.ProviderEvent> = []
    const fiber = yield* Effect.forkChild(
      Stream.runForEach(provider.stream(request(asked)), (event) => Effect.sync(() => events.push(event)))
    )
    yield* TestClock.adjust(0)
    return { events, fiber }
  })

describe("Simulated", () => {
  it.effect("the default model fails twice, then explains what happened and repeats the prompt", () =>
    Effect.gen(function* () {
      const provider = yield* Simulated.make
      const model = `${Simulated.DEFAULT_MODEL}+instant`
      const failures: Array<Failure.Reason | undefined> = []
      for (const [n, wait] of ["5 seconds" as const, "10 seconds" as const].entries()) {
        const { events, failure } = yield* attempt(provider, { model, attempt: n })
        assert.strictEqual(events.length, 1)
        failures.push(failure?.reason)
        yield* TestClock.adjust(wait)
      }
      assert.deepStrictEqual(failures, ["overloaded", "overloaded"])
      const answer = yield* attempt(provider, { model, attempt: 2 })
      assert.match(
        answer.text,
        /^You have just seen a turn outlive 2 failures in 15 s\. You wrote: “Is anybody there\?”\./
      )
      assert.deepStrictEqual(typesOf(answer.events), ["text-delta", "usage", "finish"])
    })
  )

  it.effect("rule D3: error statuses and errors inside a stream are emitted, in the provider's own words", () =>
    Effect.gen(function* () {
      const provider = yield* Simulated.make
      const met = (model: string) =>
        Effect.map(attempt(provider, { model, turn: `turn-${model.length}` }), ({ failure, thrown }) => {
          assert.isUndefined(thrown)
          return failure
        })
      assert.deepStrictEqual(yield* met("429;retry-after=7"), {
        reason: "rate-limited",
        message: "Rate limit reached for requests",
        retryable: true,
        status: 429,
        code: "rate_limit_exceeded",
        hint: { retryAfterMs: 7000, source: "retry-after" },
        evidence: { "retry-after": "7" }
      })
      assert.deepInclude(yield* met("529"), { message: "Overloaded", code: "overloaded_error", retryable: true })
      assert.deepInclude(yield* met("quota"), { reason: "quota-exhausted", retryable: false })
      assert.deepInclude(yield* met("too-long"), { reason: "context-overflow", retryable: false })
      assert.deepInclude(yield* met("error-in-stream"), { reason: "overloaded", message: "Overloaded" })
      assert.deepInclude(yield* met("html"), { reason: "invalid-response", retryable: true })
    })
  )

  it.effect("rule D3: connections that break, and streams that end unfinished, fail the stream", () =>
    Effect.gen(function* () {
      const provider = yield* Simulated.make
      for (const model of ["reset", "cut", "cut-after-3+instant", "ends-after-3+instant", "empty", "half-tool-call"]) {
        const { failure, text, thrown } = yield* attempt(provider, { model, turn: model.replace("+", "_") })
        assert.isUndefined(failure, model)
        assert.deepInclude(thrown, { reason: "network", retryable: true }, model)
        assert.strictEqual(text, model.includes("-after-3") ? "Nothing failed this " : "", model)
      }
    })
  )

  it.effect("rule C7: half a tool call is never an event", () =>
    Effect.gen(function* () {
      const { events } = yield* attempt(yield* Simulated.make, { model: "half-tool-call" })
      assert.deepStrictEqual(events, [])
    })
  )

  it.effect("an error after content is emitted after that content", () =>
    Effect.gen(function* () {
      const { events } = yield* attempt(yield* Simulated.make, {
        model: "error-in-stream-after-2;body=server-error+instant"
      })
      assert.deepStrictEqual(
        events.map((event) => event.type),
        ["text-delta", "text-delta", "error"]
      )
    })
  )

  it.effect("tokens are emitted at their time by the clock, and not before", () =>
    Effect.gen(function* () {
      const { events, fiber } = yield* begin(yield* Simulated.make, { model: "rate-10+first-token-3s+tokens-3" })
      yield* TestClock.adjust(2_999)
      assert.strictEqual(events.length, 0)
      yield* TestClock.adjust(1)
      assert.strictEqual(events.length, 1)
      yield* TestClock.adjust(99)
      assert.strictEqual(events.length, 1)
      yield* TestClock.adjust(1)
      assert.strictEqual(events.length, 2)
      yield* TestClock.adjust(100)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(typesOf(events), ["text-delta", "usage", "finish"])
    })
  )

  it.effect("a stall lasts until it is interrupted", () =>
    Effect.gen(function* () {
      const { events, fiber } = yield* begin(yield* Simulated.make, { model: "stall-after-2+instant" })
      yield* TestClock.adjust("8 hours")
      assert.strictEqual(events.length, 2)
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("a timed outage begins when the prompt was submitted, in any process", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000_000)
      const asked = { model: "down-for-90s+instant", createdAt: 1_000_000 - 60_000 }
      const before = yield* attempt(yield* Simulated.make, { ...asked, attempt: 5 })
      assert.deepInclude(before.failure, { status: 503, retryable: true })
      yield* TestClock.adjust("30 seconds")
      const after = yield* attempt(yield* Simulated.make, { ...asked, attempt: 6 })
      assert.include(after.text, "outlive 6 failures in 1 min 30 s.")
    })
  )

  it.effect("rule X1: a turn that another process began gets the rest of its script", () =>
    Effect.gen(function* () {
      const restarted = yield* Simulated.make
      const { failure } = yield* attempt(restarted, { model: "429,503,ok+instant", attempt: 1 })
      assert.strictEqual(failure?.status, 503)
      const { text } = yield* attempt(restarted, { model: "429,503,ok+instant", attempt: 2 })
      assert.include(text, "outlive 2 failures")
    })
  )

  it.effect("a tool call has the first tool's name, and the next step continues the script", () =>
    Effect.gen(function* () {
      const provider = yield* Simulated.make
      const tools = [{ name: "look_up", inputSchema: {} }]
      const model = 'tool-call;input={"query":"tide"},503+instant'
      const first = yield* attempt(provider, { model, tools })
      assert.deepStrictEqual(first.events.slice(0, 1), [
        { type: "tool-call", toolCallId: "call_turn-1_0", toolName: "look_up", input: { query: "tide" } }
      ])
      assert.deepInclude(first.events.at(-1), { type: "finish", finishReason: "tool-calls" })
      assert.strictEqual((yield* attempt(provider, { model, tools, step: 1 })).failure?.status, 503)
      const last = yield* attempt(provider, { model, tools, step: 1, attempt: 1 })
      assert.include(last.text, "outlive a failure")
    })
  )

  it.effect("arguments that are no JSON are passed on unchanged", () =>
    Effect.gen(function* () {
      const { events } = yield* attempt(yield* Simulated.make, { model: 'tool-call;name=f;input={"half' })
      assert.deepInclude(events[0], { type: "tool-call", toolName: "f", input: '{"half' })
      assert.property(events[0], "malformed")
    })
  )

  it.effect("reasoning precedes the text, and is counted", () =>
    Effect.gen(function* () {
      const { events } = yield* attempt(yield* Simulated.make, { model: "reasoning+instant+tokens-4" })
      assert.deepStrictEqual(typesOf(events), ["reasoning-delta", "text-delta", "usage", "finish"])
      const reasoningTokens = events.filter((event) => event.type === "reasoning-delta").length
      assert.deepInclude(events.at(-2), {
        usage: { inputTokens: 3, outputTokens: 4 + reasoningTokens, reasoningTokens }
      })
    })
  )

  it.effect("a refusal is a finished answer with that finish reason", () =>
    Effect.gen(function* () {
      const { events, text } = yield* attempt(yield* Simulated.make, { model: "refuse+instant" })
      assert.strictEqual(text, "I cannot help with that.")
      assert.deepStrictEqual(events.at(-1), { type: "finish", finishReason: "content-filter" })
    })
  )

  it.effect("a line of the prompt overrides the model's name, and is not repeated", () =>
    Effect.gen(function* () {
      const provider = yield* Simulated.make
      const asked = { model: "steady+instant", prompt: "Hello\nsimulate: 502+instant\nthere" }
      assert.strictEqual((yield* attempt(provider, asked)).failure?.status, 502)
      assert.include((yield* attempt(provider, asked)).text, "You wrote: “Hello there”.")
    })
  )

  it.effect("an invalid name is a model that does not exist, and the failure lists the valid parts", () =>
    Effect.gen(function* () {
      const provider = yield* Simulated.make
      for (const asked of [{ model: "otage-2" }, { model: "steady", prompt: "simulate: otage-2" }]) {
        const { failure } = yield* attempt(provider, asked)
        assert.deepInclude(failure, { reason: "model-unavailable", retryable: false, status: 404 })
        assert.match(failure?.message ?? "", /^The model "otage-2" does not exist: it is no script/)
        assert.include(failure?.message ?? "", Syntax.HELP)
      }
    })
  )

  it("a model is described before it is used", () => {
    assert.strictEqual(
      Result.getOrThrow(Simulated.describe(Simulated.DEFAULT_MODEL)),
      "Each turn meets a 529 (overloaded) twice; then it is answered, 30 tokens a second."
    )
    assert.isTrue(Result.isFailure(Simulated.describe("otage-2")))
  })
})
