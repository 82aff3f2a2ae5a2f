import { assert, describe } from "@effect/vitest"
import { Scenario, ScriptedProvider, TestRouter, TestStrategy } from "@holdfast/kernel/testing"
import { defined, type Failure, Ids, type Message } from "@holdfast/wire"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Route } from "../src/records/Route.ts"

const { bothWays, settle } = Scenario
const { answer, badGateway, call, dies, emits, hangs, overloaded, text, tools, unauthorized } = ScriptedProvider

const primary = Scenario.target
const fallback: Route = { target: { provider: "other", model: "big" }, role: "default" }
const second: Route = { target: primary, credential: "second" }

const overflow = { reason: "context-overflow", message: "prompt is too long", retryable: false } as const

const strategy = TestStrategy.make

/** Goes to the fallback at once after every failure. */
const switching = () => new TestRouter.TestRouter({ direct: () => ({ delayMs: 0, route: fallback }) })

const toolbox = { definitions: [], run: () => Effect.succeed({ output: "done", isError: false }) }

describe("a switch to another target", () => {
  bothWays("rule P8: is emitted and persisted in order, does not sleep, and succeeds with the first answer", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const run = yield* start({
        scripts: [emits(overloaded), answer("ok")],
        strategy: policy,
        services: switching().layer
      })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.deepStrictEqual(policy.sleeps, [])
      assert.strictEqual(end.sleptMs, 0)
      // A life that resumes before the call emits `step-start` again.
      const again = new Set(["provider-retry", "step-start"])
      const types = run.sink.types.filter((type, i, all) => !again.has(type) || all.indexOf(type) === i)
      assert.deepStrictEqual(types, [
        "turn-start",
        "message",
        "step-start",
        "provider-retry",
        "retry-fallback-applied",
        "model-change",
        "text-delta",
        "retry-end",
        "retry-fallback-succeeded",
        "usage",
        "message",
        "turn-end"
      ])
      const [told] = run.sink.of("provider-retry")
      assert.deepInclude(told, { attempt: 0, delayMs: 0, retryAt: 0, target: "test/model" })
      const ids = { conversationId: Scenario.conversationId, turnId: Scenario.turnId }
      assert.deepStrictEqual(run.sink.of("retry-fallback-applied"), [
        { ...ids, type: "retry-fallback-applied", from: "test/model", to: "other/big", role: "default" }
      ])
      assert.deepStrictEqual(run.sink.of("model-change"), [
        { ...ids, type: "model-change", from: "test/model", to: "other/big" }
      ])
      assert.deepStrictEqual(run.sink.of("retry-fallback-succeeded"), [
        { ...ids, type: "retry-fallback-succeeded", model: "other/big", role: "default" }
      ])
    })
  )

  bothWays("rule P8: every attempt goes to its route, and every message names its target", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [emits(overloaded), answer("ok")],
        strategy: strategy(),
        services: switching().layer
      })
      yield* settle(run)
      assert.deepStrictEqual(
        run.provider.requests.map(({ target }) => target),
        [primary, fallback.target]
      )
      const last = run.sink.of("message").at(-1)?.message
      assert.deepStrictEqual(last?.role === "assistant" ? last.target : undefined, fallback.target)
    })
  )

  bothWays("rule P11: a switch opens a chain, which is closed when the retries are spent", (start) =>
    Effect.gen(function* () {
      const router = new TestRouter.TestRouter({
        direct: ({ retries }) => (retries === 0 ? { delayMs: 0, route: fallback } : undefined)
      })
      const run = yield* start({
        scripts: [emits(overloaded), emits(badGateway)],
        strategy: strategy(),
        services: router.layer
      })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.deepInclude(run.sink.of("retry-end")[0], { success: false, attempt: 0, finalError: "Bad Gateway" })
      assert.deepStrictEqual(run.sink.of("retry-fallback-succeeded"), [])
    })
  )

  bothWays("rule P7: another credential of the same target is a retry and nothing more", (start) =>
    Effect.gen(function* () {
      const router = new TestRouter.TestRouter({ direct: () => ({ delayMs: 0, route: second }) })
      const run = yield* start({
        scripts: [emits(overloaded), answer("ok")],
        strategy: strategy(),
        services: router.layer
      })
      yield* settle(run)
      assert.deepStrictEqual(
        run.provider.requests.map(({ credential }) => credential),
        [undefined, "second"]
      )
      assert.strictEqual(run.sink.of("provider-retry")[0]?.credential, "second")
      assert.deepStrictEqual(run.sink.of("model-change"), [])
      assert.deepStrictEqual(run.sink.of("retry-fallback-applied"), [])
      assert.strictEqual(run.sink.of("retry-end").length, 1)
    })
  )

  bothWays("rule A5: a retry on another target after a wait changes the model when the wait has ended", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const router = new TestRouter.TestRouter({ direct: () => ({ delayMs: 7_000, route: fallback }) })
      const run = yield* start({
        scripts: [emits(overloaded), answer("ok")],
        strategy: policy,
        services: router.layer
      })
      yield* TestClock.adjust(6_999)
      assert.deepStrictEqual(run.sink.of("model-change"), [])
      const end = yield* settle(run)
      assert.strictEqual(end.sleptMs, 7_000)
      assert.strictEqual(run.sink.of("model-change").length, 1)
      assert.deepStrictEqual(run.provider.requests[1]?.target, fallback.target)
    })
  )

  bothWays(
    "rule A15: a retry on another target after a millisecond waits for it, and a retry without a wait does not",
    (start) =>
      Effect.gen(function* () {
        for (const delayMs of [1, 0]) {
          const policy = strategy()
          const router = new TestRouter.TestRouter({ direct: () => ({ delayMs, route: fallback }) })
          const run = yield* start({
            scripts: [emits(overloaded), answer("ok")],
            strategy: policy,
            services: router.layer
          })
          const end = yield* settle(run)
          assert.deepStrictEqual([end.status, end.sleptMs], ["completed", delayMs])
          assert.deepStrictEqual(policy.sleeps, delayMs === 0 ? [] : [delayMs])
        }
      })
  )

  bothWays("rule A4: a retry without a route keeps the route, and returns the router's state to it", (start) =>
    Effect.gen(function* () {
      const router = new TestRouter.TestRouter({
        begin: ({ primary }) => ({ route: { target: primary }, state: { cursor: 0 } }),
        direct: ({ retries }) =>
          retries === 0 ? { delayMs: 0, route: fallback, state: { cursor: 1 } } : { delayMs: 1_000 }
      })
      const run = yield* start({
        scripts: [emits(overloaded), emits(overloaded), emits(badGateway), answer("ok")],
        strategy: strategy(),
        services: router.layer
      })
      yield* settle(run)
      assert.deepStrictEqual(
        run.provider.requests.map(({ target }) => target.provider),
        ["test", "other", "other", "other"]
      )
      assert.deepStrictEqual(
        router.asked.map(([, { state }]) => state),
        [{ cursor: 0 }, { cursor: 1 }, undefined]
      )
      assert.deepStrictEqual(
        router.asked.map(([{ retries, failure }, { current }]) => [retries, failure.reason, current?.target.provider]),
        [
          [0, "overloaded", "test"],
          [1, "overloaded", "other"],
          [2, "server-error", "other"]
        ]
      )
    })
  )
})

describe("the question to a router", () => {
  bothWays("rule A1: a failure that is final on one target may not occur on another", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [emits(unauthorized), answer("ok")],
        strategy: strategy(),
        services: switching().layer
      })
      assert.strictEqual((yield* settle(run)).status, "completed")
    })
  )

  for (const [title, script] of [
    ["rule D4: content that has been seen", emits(overloaded, text("Hal"))],
    ["rule P2: a context that is too long", emits(overflow)]
  ] as const) {
    bothWays(`${title} is never sent again`, (start) =>
      Effect.gen(function* () {
        const router = switching()
        const run = yield* start({ scripts: [script], strategy: strategy(), services: router.layer })
        assert.strictEqual((yield* settle(run)).status, "failed")
        assert.deepStrictEqual(router.asked, [])
      })
    )
  }

  bothWays("rule C10: a bug is retried twice, on any target, and not a third time", (start) =>
    Effect.gen(function* () {
      const router = switching()
      const run = yield* start({
        scripts: [dies("bug"), dies("bug"), dies("bug")],
        strategy: strategy(),
        services: router.layer
      })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.strictEqual(run.provider.requests.length, 3)
    })
  )

  bothWays("rule D9: without a strategy there are no retries, even with a router", (start) =>
    Effect.gen(function* () {
      const router = switching()
      const run = yield* start({ scripts: [emits(overloaded)], services: router.layer })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.deepStrictEqual(router.asked, [])
    })
  )
})

describe("the first route of a step", () => {
  bothWays("rule P9: on the fallback while the primary cools down, and on the primary again after it", (start) =>
    Effect.gen(function* () {
      const router = new TestRouter.TestRouter({
        begin: ({ current, primary }) => ({ route: current === undefined ? fallback : { target: primary } }),
        direct: () => undefined
      })
      const run = yield* start({
        scripts: [tools(call("look")), answer("ok")],
        strategy: strategy(),
        services: router.layer,
        toolbox
      })
      yield* settle(run)
      assert.deepStrictEqual(
        run.sink.persisted.map(({ type }) => type).filter((type) => /change|fallback|^message/.test(type)),
        [
          "message",
          "retry-fallback-applied",
          "model-change",
          "retry-fallback-succeeded",
          "message",
          "message",
          "model-change",
          "message"
        ]
      )
      assert.deepStrictEqual(
        run.sink.of("model-change").map(({ from, to }) => `${from} > ${to}`),
        ["test/model > other/big", "other/big > test/model"]
      )
      assert.deepStrictEqual(
        run.sink.of("step-start").map(({ target }) => target),
        ["other/big", "test/model"]
      )
      assert.deepStrictEqual(
        router.begun.map(({ current, primary, state }) => [current?.target, primary, state]),
        [
          [undefined, primary, undefined],
          [fallback.target, primary, undefined]
        ]
      )
    })
  )

  bothWays("rule P8: a fallback that had answered once is not reported again, whatever failed there since", (start) =>
    Effect.gen(function* () {
      const turnId = Ids.TurnId.make("old")
      const common = (n: number) => ({
        id: Ids.messageIdOf(turnId, n),
        turnId,
        createdAt: n,
        content: [{ type: "text" as const, text: "Hm" }]
      })
      const asked = (n: number): Message.Message => ({ role: "user", ...common(n) })
      const answered = (n: number): Message.AssistantMessage => ({
        role: "assistant",
        ...common(n),
        target: fallback.target
      })
      const history = [asked(0), answered(1), asked(2), { ...answered(3), error: overloaded }]
      const router = new TestRouter.TestRouter({ begin: () => ({ route: fallback }), direct: () => undefined })
      const run = yield* start({ scripts: [answer("ok")], history, strategy: strategy(), services: router.layer })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.deepStrictEqual(run.provider.requests[0]?.target, fallback.target)
      assert.deepStrictEqual(run.sink.of("retry-fallback-succeeded"), [])
    })
  )

  bothWays("rule P9: a router that keeps the target emits nothing", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [answer("ok")], strategy: strategy(), services: switching().layer })
      yield* settle(run)
      assert.deepStrictEqual(run.sink.types, [
        "turn-start",
        "message",
        "step-start",
        "text-delta",
        "usage",
        "message",
        "turn-end"
      ])
    })
  )

  bothWays("rule P9: a router receives the next request with its tools", (start) =>
    Effect.gen(function* () {
      const router = switching()
      const definitions = [{ name: "look", inputSchema: {} }]
      const run = yield* start({
        scripts: [answer("ok")],
        services: router.layer,
        toolbox: { ...toolbox, definitions }
      })
      yield* settle(run)
      const { request } = router.begun[0] ?? assert.fail("it was not asked")
      assert.deepStrictEqual(request.tools, definitions)
      assert.deepStrictEqual(
        request.messages.map(({ role }) => role),
        ["user"]
      )
    })
  )
})

describe("a person's choice", () => {
  bothWays("rule X4: a target that a person chose is the primary from then on, and the router starts anew", (start) =>
    Effect.gen(function* () {
      const chosen = { provider: "third", model: "one" }
      const policy = strategy()
      const router = new TestRouter.TestRouter({
        begin: ({ primary }) => ({ route: { target: primary }, state: "begun" }),
        direct: () => ({ delayMs: 9_000, route: fallback, state: "mine" })
      })
      const run = yield* start({
        scripts: [emits(overloaded), emits(overloaded), tools(call("look")), answer("ok")],
        strategy: policy,
        services: router.layer,
        toolbox
      })
      yield* TestClock.adjust(1_000)
      yield* policy.wake({ type: "switched", target: chosen })
      yield* settle(run)
      assert.deepStrictEqual(
        run.provider.requests.map(({ target }) => target.provider),
        ["test", "third", "other", "third"]
      )
      assert.deepStrictEqual(
        router.asked.map(([, { primary, state }]) => [primary.provider, state]),
        [
          ["test", "begun"],
          ["third", undefined]
        ]
      )
      assert.deepStrictEqual(
        run.sink.of("model-change").map(({ to }) => to),
        ["third/one", "other/big", "third/one"]
      )
    })
  )

  bothWays("rule X4: a person's choice of the present target is no change of the model", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const run = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: policy })
      yield* TestClock.adjust(1_000)
      yield* policy.wake({ type: "switched", target: primary })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.deepStrictEqual(run.sink.of("model-change"), [])
    })
  )

  bothWays("rule P7: another model that a person chose uses the credential in use at its provider", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const router = new TestRouter.TestRouter({
        direct: ({ retries }) => (retries === 0 ? { delayMs: 0, route: second } : { delayMs: 9_000 })
      })
      const run = yield* start({
        scripts: [emits(overloaded), emits(overloaded), answer("ok")],
        strategy: policy,
        services: router.layer
      })
      yield* TestClock.adjust(1_000)
      yield* policy.wake({ type: "switched", target: { provider: "test", model: "larger" } })
      yield* settle(run)
      assert.deepStrictEqual(
        run.provider.requests.map(({ credential, target }) => [target.model, credential]),
        [
          ["model", undefined],
          ["model", "second"],
          ["larger", "second"]
        ]
      )
    })
  )

  bothWays("rule P7: a credential is not used for another provider that a person chose", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const router = new TestRouter.TestRouter({
        direct: ({ retries }) => (retries === 0 ? { delayMs: 0, route: second } : { delayMs: 9_000 })
      })
      const run = yield* start({
        scripts: [emits(overloaded), emits(overloaded), answer("ok")],
        strategy: policy,
        services: router.layer
      })
      yield* TestClock.adjust(1_000)
      yield* policy.wake({ type: "switched", target: { provider: "third", model: "one" } })
      yield* settle(run)
      assert.deepStrictEqual(
        run.provider.requests.map(({ credential, target }) => [target.provider, credential]),
        [
          ["test", undefined],
          ["test", "second"],
          ["third", undefined]
        ]
      )
    })
  )

  bothWays("rule X4: a fallback that a person left before it had answered has not succeeded", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const router = new TestRouter.TestRouter({
        direct: ({ retries }) => (retries === 0 ? { delayMs: 0, route: fallback } : { delayMs: 9_000 })
      })
      const run = yield* start({
        scripts: [emits(overloaded), emits(overloaded), answer("ok")],
        strategy: policy,
        services: router.layer
      })
      yield* TestClock.adjust(1_000)
      yield* policy.wake({ type: "switched", target: { provider: "third", model: "one" } })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.strictEqual(run.sink.of("retry-fallback-applied").length, 1)
      assert.deepStrictEqual(run.sink.of("retry-fallback-succeeded"), [])
    })
  )

  bothWays("rule D8: an abort after a switch ends the turn, and closes the chain", (start) =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const run = yield* start({
        scripts: [emits(overloaded), hangs(reached)],
        strategy: strategy(),
        services: switching().layer,
        abort: Deferred.await(reached)
      })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "aborted")
      assert.deepInclude(run.sink.of("retry-end")[0], { success: false, finalError: "Retry cancelled" })
    })
  )
})

/** A response of an earlier turn, or a failed one. */
const earlier = (target: Route["target"], failure?: Failure.Failure): Message.Message => ({
  role: "assistant",
  id: Ids.messageIdOf(Ids.TurnId.make("earlier"), 1),
  turnId: Ids.TurnId.make("earlier"),
  createdAt: 0,
  content: [{ type: "text", text: "Hello" }],
  target,
  ...defined({ error: failure })
})

const onFallback = () => new TestRouter.TestRouter({ begin: () => ({ route: fallback }), direct: () => undefined })

const changes = (run: Scenario.Run) =>
  run.sink.persisted.flatMap((event) =>
    event.type === "model-change" || event.type === "retry-fallback-applied"
      ? [`${event.type} ${event.from} > ${event.to}`]
      : []
  )

describe("a turn that begins", () => {
  bothWays("rule P8: on the target of the last turn emits no change", (start) =>
    Effect.gen(function* () {
      const history = [earlier(fallback.target)]
      const run = yield* start({ scripts: [answer("ok")], services: onFallback().layer, history })
      yield* settle(run)
      assert.deepStrictEqual(changes(run), [])
      assert.deepStrictEqual(run.sink.of("retry-fallback-succeeded"), [])
      assert.deepStrictEqual(run.sink.of("step-start")[0]?.target, "other/big")
    })
  )

  bothWays("rule P8: on a fallback that has only failed until now emits its first success", (start) =>
    Effect.gen(function* () {
      const failed = earlier(fallback.target, overloaded)
      for (const history of [[earlier(fallback.target), earlier(primary), failed], [failed]]) {
        const run = yield* start({ scripts: [answer("ok")], services: onFallback().layer, history })
        yield* settle(run)
        assert.deepStrictEqual(changes(run), [])
        assert.strictEqual(run.sink.of("retry-fallback-succeeded").length, 1)
      }
    })
  )

  bothWays(
    "rule P8, P9: on its own target emits the change back, if the last turn ended elsewhere, with a router or without",
    (start) =>
      Effect.gen(function* () {
        const history = [earlier(fallback.target)]
        for (const services of [new TestRouter.TestRouter({ direct: () => undefined }).layer, undefined]) {
          const run = yield* start({
            scripts: [answer("ok")],
            history,
            ...defined({ services })
          })
          yield* settle(run)
          assert.deepStrictEqual(changes(run), ["model-change other/big > test/model"])
        }
      })
  )

  bothWays("rule P8: on a fallback emits both events, if the last turn ended on the primary", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [answer("ok")], services: onFallback().layer, history: [earlier(primary)] })
      yield* settle(run)
      assert.deepStrictEqual(changes(run), [
        "retry-fallback-applied test/model > other/big",
        "model-change test/model > other/big"
      ])
    })
  )
})

describe("a success", () => {
  bothWays(
    "rule C12: is reported to the router with its route and the start of its call, and a failure is not",
    (start) =>
      Effect.gen(function* () {
        const router = new TestRouter.TestRouter({ direct: () => ({ delayMs: 7_000, route: second }) })
        const run = yield* start({
          scripts: [emits(overloaded), answer("ok")],
          strategy: strategy(),
          services: router.layer
        })
        yield* settle(run)
        // An attempt that is made again after a crash is reported again.
        assert.deepStrictEqual(router.answered[0], [second, 7_000])
        assert.deepStrictEqual(new Set(router.answered.map((one) => JSON.stringify(one))).size, 1)
      })
  )
})
