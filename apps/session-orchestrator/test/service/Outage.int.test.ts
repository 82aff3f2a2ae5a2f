/** Tests a conversation over HTTP whose provider fails: the order of its turns, and the commands of a wait. */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, Fiber } from "effect"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"

const { ErrorBody, answerFrames } = ScriptedServer

const overloaded = { status: 429, body: ErrorBody.envelope("overloaded", "anthropic") }
const badGateway = { status: 502, headers: { "content-type": "text/html" }, body: ErrorBody.page(502) }
const answer = (text: string) => ({ frames: answerFrames("openai", text) })

describe("a conversation whose provider fails", () => {
  it.live(
    "rule P13: runs one turn at a time, each answered after its retries; the same turn again is no second one",
    () =>
      Effect.gen(function* () {
        const service = yield* Service.start()
        const gate = ScriptedServer.gate()
        service.provider.respond(
          overloaded,
          { frames: [gate, ...answerFrames("openai", "one")] },
          badGateway,
          overloaded,
          answer("two"),
          answer("three")
        )
        const id = yield* service.create()
        const send = (turnId: string, prompt = turnId) =>
          service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt, turnId } })
        const fibers = []
        for (const [queued, turnId] of ["1", "2", "3"].entries()) {
          fibers.push(yield* Effect.forkChild(send(turnId), { startImmediately: true }))
          if (queued === 0) yield* gate.reached
          yield* Process.eventually(
            `${queued} to be queued`,
            Effect.map(service.call({ path: `/v1/conversations/${id}` }), ({ text }) => JSON.parse(text).queued.length),
            (length) => length === queued
          )
        }
        assert.strictEqual(service.provider.count(), 2)
        yield* gate.open
        const answers = yield* Effect.forEach(fibers, Fiber.join)
        assert.deepStrictEqual(
          answers.map(({ text }) => JSON.parse(text).text),
          ["one", "two", "three"]
        )
        assert.strictEqual((yield* send("1")).text, answers[0]?.text)
        assert.strictEqual((yield* send("1", "Something else")).status, 409)
        assert.strictEqual(service.provider.count(), 6)
      })
  )

  it.live("rule X4: takes commands in its wait without its client, and shows them to a client that comes later", () =>
    Effect.gen(function* () {
      const service = yield* Service.start({ retry: Service.LONG })
      service.provider.respond(overloaded)
      service.provider.fallback(answer("At last"))
      const id = yield* service.create()
      const live = yield* service.open({
        path: `/v1/conversations/${id}/turns`,
        headers: { accept: "application/x-ndjson" },
        body: { prompt: "Hello" }
      })
      yield* live.until("provider-retry")
      yield* live.hangUp
      const later = yield* service.open({ path: `/v1/conversations/${id}/events?after=0` })
      assert.include(yield* later.until("provider-retry"), "retryAt")
      const post = (name: string, body: object) => service.call({ path: `/v1/conversations/${id}/${name}`, body })
      const until = Date.now() + 7_200_000
      assert.strictEqual((yield* post("wait-until", { until })).status, 202)
      yield* later.until(String(until))
      const { text } = yield* service.call({ path: `/v1/conversations/${id}` })
      assert.deepInclude(JSON.parse(text), { status: "retrying", isRetrying: true, attempt: 0, retryAt: until })
      assert.strictEqual((yield* post("switch-target", { model: "nowhere/m" })).status, 400)
      assert.strictEqual((yield* post("switch-target", { model: "scripted/another" })).status, 202)
      const rest = yield* later.until("turn-end")
      assert.include(rest, '"to":"scripted/another"')
      assert.include(rest, '"status":"completed"')
      assert.strictEqual(JSON.parse(String(service.provider.requests()[1]?.body)).model, "another")
    })
  )
})
