/** Tests a turn's next target after a failure: keys, targets, and remembered cooldowns. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import type { Profile } from "@holdfast/policy"
import { Effect } from "effect"
import * as Service from "./Service.ts"

const { ErrorBody, answerFrames, toolCallFrames } = ScriptedServer

type Running = Effect.Success<ReturnType<typeof Service.start>>

const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "openai") }
const quota = { status: 429, body: ErrorBody.envelope("quota", "openai") }
const overflow = { status: 400, body: ErrorBody.envelope("too-long", "openai") }
const answer = (text: string) => ({ frames: answerFrames("openai", text) })

const chain: Profile.RetrySettings = {
  ...Service.QUICK,
  routing: { type: "fallback-chain", chains: { default: ["second/m"] } }
}

const turn = Effect.fnUntraced(function* (service: Running, id: string, prompt = "Hello") {
  const { status, text } = yield* service.call({
    path: `/v1/conversations/${id}/turns`,
    headers: { accept: "application/x-ndjson" },
    body: { prompt }
  })
  assert.strictEqual(status, 200)
  return Service.eventsOf(text)
})

/** Where each request went. */
const paths = (service: Running) => service.provider.requests().map(({ path }) => path.split("/")[1])

describe("a service whose target fails", () => {
  it.live(
    "rule P8: continues with the next target of the chain at once, announces it, and names the model that answered",
    () =>
      Effect.gen(function* () {
        const service = yield* Service.start({ providers: ["scripted", "second"], retry: chain })
        service.provider.respond(overloaded, answer("From the second"))
        const events = yield* turn(service, yield* service.create())
        assert.deepStrictEqual(paths(service), ["scripted", "second"])
        assert.strictEqual(Service.shown(events), "From the second")
        const applied = events.find((event) => event.type === "retry-fallback-applied")
        assert.deepInclude(applied, { from: "scripted/m", to: "second/m", role: "default" })
        const succeeded = events.find((event) => event.type === "retry-fallback-succeeded")
        assert.deepInclude(succeeded, { model: "second/m", role: "default" })
        const message = events.findLast((event) => event.type === "message")
        assert.deepStrictEqual(
          message?.type === "message" && message.message.role === "assistant" && message.message.target,
          {
            provider: "second",
            model: "m"
          }
        )
        const end = events.at(-1)
        assert.deepInclude(end, { type: "turn-end", status: "completed", attempts: 2, sleptMs: 0 })
      })
  )

  it.live("rule P8, P9: remembers over a restart that a target cools down, in all conversations", () =>
    Effect.gen(function* () {
      const database = yield* TemporaryFile.temporaryFile
      const provider = yield* ScriptedServer.start()
      const options = { database, provider, providers: ["scripted", "second"], retry: chain }
      const first = yield* Service.start(options)
      provider.respond(overloaded, answer("One"))
      yield* turn(first, yield* first.create())
      yield* first.stop
      const second = yield* Service.start(options)
      provider.respond(answer("Two"))
      yield* turn(second, yield* second.create())
      assert.deepStrictEqual(paths(second), ["scripted", "second", "second"])
    })
  )

  it.live(
    "rule P7: takes another key of the provider when one is used up, and avoids that one; no key is ever shown",
    () =>
      Effect.gen(function* () {
        const service = yield* Service.start({ credentials: ["SPARE_KEY"] })
        service.provider.respond(quota, answer("With the spare"), answer("And again"))
        const id = yield* service.create()
        const events = [...(yield* turn(service, id)), ...(yield* turn(service, yield* service.create()))]
        assert.deepStrictEqual(
          service.provider.requests().map(({ headers }) => headers["authorization"]),
          ["sk-test-0123456789", Service.keyOf("SPARE_KEY"), Service.keyOf("SPARE_KEY")].map((key) => `Bearer ${key}`)
        )
        const retry = events.find((event) => event.type === "provider-retry")
        assert.deepInclude(retry, { delayMs: 0, reason: "quota-exhausted", credential: "SPARE_KEY" })
        assert.notInclude(JSON.stringify(events), Service.keyOf("SPARE_KEY"))
      })
  )

  it.live("rule A4: takes targets in turn", () =>
    Effect.gen(function* () {
      const routing = { type: "round-robin" as const, targets: ["scripted/m", "second/m", "third/m"] }
      const service = yield* Service.start({
        providers: ["scripted", "second", "third"],
        retry: { profile: "cycling", routing }
      })
      const limited = { status: 429, body: ErrorBody.envelope("rate-limit", "openai") }
      service.provider.respond(limited, limited, answer("From the third"))
      const events = yield* turn(service, yield* service.create())
      assert.deepStrictEqual(paths(service), ["scripted", "second", "third"])
      assert.strictEqual(Service.shown(events), "From the third")
    })
  )

  it.live("rule P8: skips a target that is known to be too small for the request", () =>
    Effect.gen(function* () {
      const service = yield* Service.start({
        providers: ["scripted", "second", "third"],
        models: { "second/m": { contextWindow: 5 } },
        retry: { ...chain, routing: { type: "fallback-chain", chains: { default: ["second/m", "third/m"] } } }
      })
      service.provider.respond(overloaded, answer("From the third"))
      yield* turn(service, yield* service.create(), "A prompt of more than five tokens, as anybody can see")
      assert.deepStrictEqual(paths(service), ["scripted", "third"])
    })
  )
})

describe("a turn that has to end with a report", () => {
  const schema = { type: "object", properties: { summary: { type: "string" } }, required: ["summary"] }
  const retry: Profile.RetrySettings = { ...Service.QUICK, finalReport: { schema }, maxTurns: 3 }

  it.live("rule A9, A13: requests again after text without a report, and has the report in its seal", () =>
    Effect.gen(function* () {
      const service = yield* Service.start({ retry })
      service.provider.respond(
        answer("I am done."),
        { frames: toolCallFrames("openai", "final_report", { summary: 7 }) },
        { frames: toolCallFrames("openai", "final_report", { summary: "All done" }) }
      )
      const events = yield* turn(service, yield* service.create())
      const types = events.map(({ type }) => type)
      assert.include(types, "synthetic-retry")
      assert.include(types, "final-turn") // rule A12
      const end = events.at(-1)
      assert.deepInclude(end, {
        type: "turn-end",
        status: "completed",
        report: { source: "tool-call", success: true, content: { summary: "All done" } }
      })
      const [, second] = service.provider.requests()
      assert.include(second?.body, "TURN-FAILED")
    })
  )
})

describe("a context that is too long", () => {
  it.live("rule P19: is summed up by the model, and the step runs again", () =>
    Effect.gen(function* () {
      const service = yield* Service.start()
      const id = yield* service.create()
      service.provider.respond(answer("One"), answer("Two"), answer("Three"))
      for (const prompt of ["First", "Second", "Third"]) yield* turn(service, id, prompt)
      service.provider.respond(overflow, answer("They counted."), answer("Four"))
      const events = yield* turn(service, id, "Fourth")
      assert.strictEqual(Service.shown(events), "Four")
      const compaction = events.find((event) => event.type === "compaction")
      assert.deepInclude(compaction, { summary: "They counted." })
      assert.include(service.provider.requests().at(-1)?.body, "They counted.")
      const { text } = yield* service.call({ path: `/v1/conversations/${id}/messages` })
      for (const kept of ["First", "Second", "Third", "Fourth"]) assert.include(text, kept)
    })
  )
})

describe("retry settings of a conversation", () => {
  it.live("name existing providers, or no conversation is created", () =>
    Effect.gen(function* () {
      const service = yield* Service.start()
      const refused = (retry: object) =>
        Effect.map(service.call({ path: "/v1/conversations", body: { retry } }), ({ status, text }) => {
          assert.strictEqual(status, 400)
          return text
        })
      assert.include(
        yield* refused({ routing: { type: "fallback-chain", chains: { default: ["nobody/m"] } } }),
        "retry.routing.chains.default[0]"
      )
      assert.include(yield* refused({ finalReport: { schema: { type: "objekt" } } }), "retry.finalReport.schema")
    })
  )
})
