/** Stops a service and starts it again over the same database, in one process. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Clock, Duration, Effect, Logger } from "effect"
import { stillWaits, withWait } from "./LongerWaits.ts"
import * as Service from "./Service.ts"

const { ErrorBody, answerFrames } = ScriptedServer

const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "anthropic") }

describe("a service that is started again", () => {
  it.live("rule X1: leaves a waiting turn waiting until its announced time, and answers it once", () =>
    withWait(
      6,
      Effect.fnUntraced(function* (seconds) {
        const { provider, start } = yield* setup(Duration.seconds(seconds))
        provider.respond(overloaded, { frames: answerFrames("openai", "Still here") })
        const first = yield* start
        const { id } = yield* waiting(first)
        const before = yield* stateOf(first, id)
        yield* first.stop

        const second = yield* start
        const after = yield* stateOf(second, id)
        yield* stillWaits(before.retryAt)
        assert.strictEqual(after.status, "retrying")
        assert.deepStrictEqual(after.retry, before.retry)
        yield* second.call({ method: "POST", path: `/v1/conversations/${id}/retry-now` })
        const events = yield* second.open({ path: `/v1/conversations/${id}/events` })
        const text = yield* events.until("turn-end")
        assert.include(text, "Still here")
        assert.strictEqual(text.split('"type":"turn-start"').length, 2)
        assert.strictEqual(provider.count(), 2)
      })
    )
  )

  it.live("rule X1, X4: leaves a turn waiting until the time to which a command has moved its wait", () =>
    Effect.gen(function* () {
      const { provider, start } = yield* setup()
      provider.fallback(overloaded)
      const first = yield* start
      const { id, live } = yield* waiting(first)
      const until = Date.now() + 7_200_000
      yield* first.call({ path: `/v1/conversations/${id}/wait-until`, body: { until } })
      yield* live.until(`"retryAt":${until}`)
      yield* first.call({ path: `/v1/conversations/${id}/extend-budget`, body: { byMs: 1_000 } })
      yield* first.stop
      const second = yield* start
      const { retryAt, status } = yield* stateOf(second, id)
      assert.deepStrictEqual({ retryAt, status }, { retryAt: until, status: "retrying" })
      yield* second.call({ method: "POST", path: `/v1/conversations/${id}/abort` })
      const events = yield* second.open({ path: `/v1/conversations/${id}/events` })
      assert.include(yield* events.until("turn-end"), '"status":"aborted"')
      assert.strictEqual(provider.count(), 1)
    })
  )

  it.live("rule X4: a command that was taken before the restart is not taken again", () =>
    Effect.gen(function* () {
      const { provider, start } = yield* setup()
      provider.fallback(overloaded)
      const first = yield* start
      const { id, live } = yield* waiting(first)
      const command = { path: `/v1/conversations/${id}/retry-now`, body: { commandId: "once" } }
      yield* first.call(command)
      yield* live.until('"attempt":1')
      yield* first.stop
      const second = yield* start
      yield* second.call(command)
      // The abort comes after the command: at the seal both have been processed.
      yield* second.call({ method: "POST", path: `/v1/conversations/${id}/abort` })
      const watcher = yield* second.open({ path: `/v1/conversations/${id}/events` })
      assert.include(yield* watcher.until("turn-end"), '"status":"aborted"')
      assert.strictEqual(provider.count(), 2)
    })
  )

  it.live("rule D8: an abort right after the restart seals the turn, behind its earlier text", () =>
    Effect.gen(function* () {
      const { provider, start } = yield* setup()
      provider.fallback(overloaded)
      const first = yield* start
      const { id } = yield* waiting(first)
      yield* first.stop
      const second = yield* start
      yield* second.call({ method: "POST", path: `/v1/conversations/${id}/abort` })
      const events = yield* second.open({ path: `/v1/conversations/${id}/events` })
      assert.include(yield* events.until("turn-end"), '"status":"aborted"')
      assert.strictEqual(provider.count(), 1)
    })
  )
})

/** A provider, and one service after the other over one file. */
describe("a start with turns to take up", () => {
  it.live("rule X1: logs its progress if it takes longer than two seconds", () =>
    Effect.gen(function* () {
      const { provider, start } = yield* setup()
      provider.fallback(overloaded)
      const first = yield* start
      yield* waiting(first)
      yield* waiting(first)
      yield* first.stop
      const lines: Array<string> = []
      let now = Date.now()
      // Each look at the clock is a second later than the one before.
      const slow: Clock.Clock = Object.create(yield* Clock.Clock, {
        currentTimeMillisUnsafe: { value: () => (now += 1_000) }
      })
      const second = yield* start.pipe(
        Effect.provideService(Clock.Clock, slow),
        Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))]))
      )
      yield* second.stop
      const progress = lines.filter((line) => line.startsWith("Taking up unfinished turns"))
      assert.match(progress[0] ?? "", /: \d+ s so far, \d of 2 read\.$/)
      assert.match(progress.at(-1) ?? "", /: done after \d+ s\.$/)
    })
  )
})

const setup = Effect.fnUntraced(function* (delay: Duration.Duration = Duration.hours(1)) {
  const database = yield* TemporaryFile.temporaryFile
  const provider = yield* ScriptedServer.start()
  const retry = { schedule: { type: "steps", delays: [delay], tail: delay } } as const
  return { provider, start: Service.start({ provider, database, retry }) }
})

/** A turn whose wait has been announced. */
const waiting = Effect.fnUntraced(function* (service: Effect.Success<ReturnType<typeof Service.start>>) {
  const id = yield* service.create()
  const live = yield* service.open({
    path: `/v1/conversations/${id}/turns`,
    headers: { accept: "application/x-ndjson" },
    body: { prompt: "Hello" }
  })
  yield* live.until("provider-retry")
  return { id, live }
})

const stateOf = (service: Effect.Success<ReturnType<typeof Service.start>>, id: string) =>
  Effect.map(service.call({ path: `/v1/conversations/${id}` }), ({ text }) => JSON.parse(text))
