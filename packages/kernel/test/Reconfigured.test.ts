/** Turns that resume in a process with another configuration (X1). */
import { assert, describe, it } from "@effect/vitest"
import {
  RecordingSink,
  ReplayCheckpoint,
  Scenario,
  ScriptedProvider,
  TestRouter,
  TestStrategy
} from "@holdfast/kernel/testing"
import { Ids, type Message } from "@holdfast/wire"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Route } from "../src/records/Route.ts"

const { answer, badGateway, call, emits, hangs, overloaded, tools } = ScriptedProvider

const fallback: Route = { target: { provider: "other", model: "big" }, role: "default" }

const onFallback = () =>
  new TestRouter.TestRouter({ begin: () => ({ route: fallback }), direct: () => ({ delayMs: 60_000 }) })

const toolbox = { definitions: [], run: () => Effect.succeed({ output: "done", isError: false }) }

/** A turn's lives, one after the other: each begins with the records of the lives before. */
const lives = () => {
  const shared = { replay: new ReplayCheckpoint.ReplayCheckpoint(), sink: new RecordingSink.RecordingSink(), toolbox }
  const begin = (options: Omit<Scenario.Options, keyof typeof shared>) =>
    Scenario.replayed({ strategy: new TestStrategy.TestStrategy({ delays: [60_000] }), ...options, ...shared })
  return { ...shared, begin }
}

const targets = ({ provider }: Scenario.Run) => provider.requests.map(({ target }) => target.provider)

describe("a turn that resumes", () => {
  it.effect("rule X1: without the router that it began with continues on its route", () =>
    Effect.gen(function* () {
      const { begin } = lives()
      const first = yield* begin({
        scripts: [tools(call("look")), emits(overloaded)],
        services: onFallback().layer
      })
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(first.fiber)

      const second = yield* begin({ scripts: [answer("ok")] })
      assert.strictEqual((yield* Scenario.settle(second)).status, "completed")
      assert.deepStrictEqual(targets(second), ["other"])
    })
  )

  it.effect("rule X1: with a router that it did not begin with asks it from its next decision on", () =>
    Effect.gen(function* () {
      const { begin } = lives()
      const first = yield* begin({ scripts: [tools(call("look")), emits(overloaded)] })
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(first.fiber)

      const router = new TestRouter.TestRouter({
        begin: () => ({ route: fallback }),
        direct: () => ({ delayMs: 0, route: fallback })
      })
      const second = yield* begin({ scripts: [emits(badGateway), answer("ok")], services: router.layer })
      assert.strictEqual((yield* Scenario.settle(second)).status, "completed")
      assert.deepStrictEqual(targets(second), ["test", "other"])
      assert.deepStrictEqual(router.begun, [])
    })
  )

  it.effect("rule A11: with a new limit is not stopped in a step that has its route", () =>
    Effect.gen(function* () {
      const { begin, sink } = lives()
      const reached = yield* Deferred.make<void>()
      const first = yield* begin({ scripts: [hangs(reached)], services: onFallback().layer })
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(first.fiber)

      const second = yield* begin({ scripts: [answer("ok")], services: onFallback().layer, limits: { maxTurns: 1 } })
      assert.strictEqual((yield* Scenario.settle(second)).status, "completed")
      assert.deepStrictEqual(sink.of("final-turn"), [])
    })
  )

  it.effect("rule A11: with a new limit is not stopped in a step that has shown content", () =>
    Effect.gen(function* () {
      const { begin, sink } = lives()
      const reached = yield* Deferred.make<void>()
      const first = yield* begin({ scripts: [hangs(reached, ScriptedProvider.text("Hal"))] })
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(first.fiber)

      const second = yield* begin({ scripts: [answer("ok")], limits: { maxTurns: 1 } })
      assert.strictEqual((yield* Scenario.settle(second)).status, "completed")
      assert.deepStrictEqual(sink.of("final-turn"), [])
    })
  )

  it.effect("rule X1, P8: in a version that compares with the target used last emits the same events as before", () =>
    Effect.gen(function* () {
      const { begin, replay, sink } = lives()
      const target = fallback.target
      const turnId = Ids.TurnId.make("earlier")
      const history: ReadonlyArray<Message.Message> = [
        { role: "assistant", id: Ids.messageIdOf(turnId, 1), turnId, createdAt: 0, content: [], target }
      ]
      const reached = yield* Deferred.make<void>()
      // Older versions recorded no target before the turn's own.
      const first = yield* begin({ scripts: [hangs(reached)], services: onFallback().layer })
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(first.fiber)
      const told = sink.persisted.map(({ type }) => type)

      const second = yield* begin({ scripts: [answer("ok")], services: onFallback().layer, history })
      assert.strictEqual((yield* Scenario.settle(second)).status, "completed")
      assert.include(told, "retry-fallback-applied")
      assert.deepStrictEqual(sink.contradictions, [])
      assert.isTrue(replay.records.has("step/0/route"))
    })
  )
})
