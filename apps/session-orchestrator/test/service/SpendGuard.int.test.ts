/** Tests a turn that asks before it spends tokens, over HTTP (rule X11). */
import { TemporaryFile } from "@holdfast/journal/testing"
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import type { Profile } from "@holdfast/policy"
import { Duration, Effect } from "effect"
import { Inspection, layerSqlite } from "../../src/insight/inspection/Inspection.ts"
import * as Service from "./Service.ts"

const { ErrorBody, answerFrames } = ScriptedServer

const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "anthropic") }

/** Some hundred tokens; 20 are spent without asking. */
const PROMPT = "Say what you would do in the morning, if nobody had answered all night. ".repeat(10)

const guarded = (answerWithin: Duration.Duration): Profile.RetrySettings => ({
  ...Service.QUICK,
  spendGuard: { after: Duration.millis(5), maxInputTokens: 20, answerWithin }
})

/** A turn that asks. */
const asking = Effect.fnUntraced(function* (answerWithin: Duration.Duration = Duration.hours(1)) {
  const database = yield* TemporaryFile.temporaryFile
  const provider = yield* ScriptedServer.start()
  provider.respond(overloaded, { frames: answerFrames("openai", "Good morning") })
  const retry = guarded(answerWithin)
  const service = yield* Service.start({ provider, database, retry })
  const id = yield* service.create()
  const live = yield* service.open({
    path: `/v1/conversations/${id}/turns`,
    headers: { accept: "application/x-ndjson" },
    body: { prompt: PROMPT, turnId: "one" }
  })
  const asked = Service.eventsOf(yield* live.until('"asks"')).findLast((event) => event.type === "provider-retry")
  assert.isDefined(asked)
  return { asked, database, id, live, provider, retry, service }
})

const post = (service: Effect.Success<ReturnType<typeof Service.start>>, id: string, name: string, body: object = {}) =>
  service.call({ path: `/v1/conversations/${id}/${name}`, body })

const stateOf = (service: Effect.Success<ReturnType<typeof Service.start>>, id: string) =>
  Effect.map(service.call({ path: `/v1/conversations/${id}` }), ({ text }) => JSON.parse(text))

const turnOf = (service: Effect.Success<ReturnType<typeof Service.start>>) =>
  Effect.map(service.call({ path: "/v1/turns/one" }), ({ text }) => JSON.parse(text))

describe("a turn that asks", () => {
  it.live(
    "rule X11, X15: shows its question to watchers, in its state and in the list of turns, over a restart; and continues on command",
    () =>
      Effect.gen(function* () {
        const { asked, database, id, provider, retry, service } = yield* asking()
        const { asks = assert.fail("it does not ask"), retryAt } = asked
        assert.deepInclude(asks, { because: "request", limit: 20 })
        assert.isAbove(asks.tokens, 100)
        assert.isBelow(asks.tokens, 2_000)
        const before = yield* stateOf(service, id)
        assert.deepInclude(before, { status: "retrying", retryAt })
        assert.deepStrictEqual(before.retry.asks, asks)
        const turnBefore = yield* turnOf(service)
        assert.deepInclude(turnBefore, { status: "waiting", attempts: 1 })
        assert.deepInclude(turnBefore.wait, { asks, retryAt })
        yield* service.stop

        const [turn] = yield* Effect.flatMap(Inspection, (inspection) => inspection.turns({ all: false })).pipe(
          Effect.provide(layerSqlite(database, { prices: {}, retry }))
        )
        assert.deepInclude(turn?.wait, { asks, retryAt })

        const second = yield* Service.start({ provider, database, retry })
        assert.deepStrictEqual((yield* stateOf(second, id)).retry, before.retry)
        assert.deepStrictEqual(yield* turnOf(second), turnBefore)
        const watcher = yield* second.open({ path: `/v1/conversations/${id}/events` })
        assert.include(yield* watcher.until('"asks"'), `"retryAt":${retryAt}`)
        assert.strictEqual(provider.count(), 1)

        assert.strictEqual((yield* post(second, id, "retry-now")).status, 202)
        assert.include(yield* watcher.until("turn-end"), "Good morning")
        assert.strictEqual(provider.count(), 2)
        const { text } = yield* second.call({
          path: `/v1/conversations/${id}/turns/one/explain`,
          headers: { accept: "text/plain" }
        })
        assert.match(
          text.replace(/\s+/g, " "),
          /the next request would be about \d+ tokens, .* waits for an answer until .*\./
        )
      })
  )

  it.live("rule X11: ends on command, without another request", () =>
    Effect.gen(function* () {
      const { id, live, provider, service } = yield* asking()
      assert.strictEqual((yield* post(service, id, "abort-retry")).status, 202)
      assert.include(yield* live.until("turn-end"), "Retry cancelled")
      assert.strictEqual(provider.count(), 1)
    })
  )

  it.live("rule X11: continues after a command, without asking again", () =>
    Effect.gen(function* () {
      const { id, live, provider, service } = yield* asking()
      const until = Date.now() + 50
      assert.strictEqual((yield* post(service, id, "wait-until", { until })).status, 202)
      const text = yield* live.until("turn-end")
      assert.include(text, "Good morning")
      assert.strictEqual(text.split('"asks"').length, 2)
      assert.strictEqual(provider.count(), 2)
    })
  )

  it.live("rule X11: gives up without an answer, and names its question and its failure", () =>
    Effect.gen(function* () {
      const { live, provider } = yield* asking(Duration.millis(100))
      const end = Service.eventsOf(yield* live.rest).at(-1)
      assert.deepInclude(end, { type: "turn-end", status: "failed" })
      const message = end?.type === "turn-end" ? end.error?.message : undefined
      assert.match(
        message ?? "",
        /would be about \d+ tokens.* Nobody answered within .* The last error was: .*Overloaded/
      )
      assert.strictEqual(provider.count(), 1)
    })
  )

  it.live("rule X11: does not ask if the request is small", () =>
    Effect.gen(function* () {
      const provider = yield* ScriptedServer.start()
      provider.respond(overloaded, { frames: answerFrames("openai", "Good morning") })
      const service = yield* Service.start({ provider, retry: guarded(Duration.hours(1)) })
      const id = yield* service.create()
      const { text } = yield* post(service, id, "turns", { prompt: "Hello" })
      assert.deepInclude(JSON.parse(text), { status: "completed", text: "Good morning" })
    })
  )
})
