/** Tests turns that are submitted and read by id (rule X15). */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { TurnState } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"

type Running = Effect.Success<ReturnType<typeof Service.start>>

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnState.TurnState))

const submit = (service: Running, id: string, turnId: string, prompt = "Hello") =>
  service.call({ ...ProcessSetup.submission(id, turnId, prompt) })

const read = (service: Running, turnId: string) =>
  Effect.map(service.call({ path: `/v1/turns/${turnId}` }), ({ status, text }) => {
    assert.strictEqual(status, 200, text)
    return decode(text)
  })

const until = (service: Running, turnId: string, status: TurnState.TurnState["status"]) =>
  Process.eventually(`turn ${turnId} to be ${status}`, read(service, turnId), (state) => state.status === status)

describe("a turn that was submitted", () => {
  it.live("rule X15: runs with no client attached, waits visibly, takes commands, and has its answer in the end", () =>
    Effect.gen(function* () {
      const before = Date.now()
      // Long enough to leave memory.
      const service = yield* Service.start({ retry: Service.LONG })
      service.provider.respond(ProcessSetup.overloaded, ProcessSetup.answer("Here"), ProcessSetup.answer("There"))
      const id = yield* service.create()
      const { headers, status, text } = yield* submit(service, id, "one")
      assert.deepStrictEqual([status, JSON.parse(text)], [202, { turnId: "one" }])
      assert.strictEqual((yield* submit(service, id, "two")).status, 202)

      const waiting = yield* until(service, "one", "waiting")
      const { retryAt = 0, since = 0 } = waiting.wait ?? {}
      assert.isAtLeast(since, before)
      assert.strictEqual(retryAt - since, 3_600_000)
      assert.deepInclude(waiting, {
        model: "scripted/m",
        attempts: 1,
        error: { reason: "overloaded", message: "Overloaded", code: "529" }
      })
      assert.deepInclude(yield* read(service, "two"), { status: "queued", attempts: 0 })
      // The same key again is the same turn, and wakes nothing.
      assert.deepInclude(yield* submit(service, id, "one"), { status: 202, text })
      assert.deepStrictEqual(yield* read(service, "one"), waiting)
      assert.strictEqual((yield* submit(service, id, "one", "Other")).status, 409)
      assert.strictEqual(service.provider.count(), 1)

      yield* service.call({ path: `/v1/conversations/${id}/retry-now`, body: {} })
      const answered = yield* until(service, "one", "completed")
      assert.deepInclude(answered, { text: "Here", attempts: 2, acceptedAt: waiting.acceptedAt })
      assert.deepInclude(yield* until(service, "two", "completed"), { text: "There", attempts: 1 })
      assert.notProperty(answered, "wait")
      assert.deepInclude(yield* submit(service, id, "one"), { status: 202, text })
      assert.strictEqual(headers.location, "/v1/turns/one")
      assert.strictEqual(service.provider.count(), 3)
    })
  )

  it.live("rule X15: has its failure without a key that its provider quoted, and an abort as its status", () =>
    Effect.gen(function* () {
      const apiKey = "planted-0123456789-key"
      const service = yield* Service.start({ apiKey, retry: Service.LONG })
      service.provider.respond(
        {
          status: 401,
          body: JSON.stringify({ error: { message: `Incorrect API key provided: ${apiKey}`, code: "invalid_api_key" } })
        },
        ProcessSetup.overloaded
      )
      const id = yield* service.create()
      yield* submit(service, id, "one")
      const { error, ...failed } = yield* until(service, "one", "failed")
      assert.deepInclude(error, { reason: "auth", code: "401" })
      assert.match(error?.message ?? "", /^Incorrect API key provided: (?!planted)/)
      assert.notProperty(failed, "text")

      const retried = yield* service.call({
        method: "POST",
        path: `/v1/conversations/${id}/retry`,
        headers: { prefer: "respond-async" },
        body: { turnId: "two" }
      })
      assert.strictEqual(retried.status, 202)
      yield* until(service, "two", "waiting")
      yield* service.call({ path: `/v1/conversations/${id}/abort`, body: {} })
      assert.deepInclude(yield* read(service, "two"), { status: "aborted", attempts: 1 })
    })
  )

  it.live("rule C11: an answer of megabytes is read whole", () =>
    Effect.gen(function* () {
      const service = yield* Service.start()
      const answer = `${"long".repeat(100_000)} `.repeat(3)
      service.provider.respond({ frames: ScriptedServer.answerFrames("openai", answer) })
      yield* submit(service, yield* service.create(), "one")
      assert.strictEqual((yield* until(service, "one", "completed")).text, answer)
    })
  )

  it.live("rule X15: is 404 for an unknown turn, with its id, and 400 for an invalid id", () =>
    Effect.gen(function* () {
      const service = yield* Service.start()
      const missing = yield* service.call({ path: "/v1/turns/none" })
      assert.strictEqual(missing.status, 404)
      assert.deepInclude(JSON.parse(missing.text), {
        type: "/docs#problem-turn-not-found",
        turnId: "none",
        detail: "There is no turn none."
      })
      const { status, text } = yield* service.call({ path: "/v1/turns/no%20id" })
      assert.deepStrictEqual([status, JSON.parse(text).type], [400, "/docs#problem-invalid-request"])
    })
  )
})
