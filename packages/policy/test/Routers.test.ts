import { assert, describe, it } from "@effect/vitest"
import type { Directive } from "@holdfast/kernel"
import { Router } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { Effect } from "effect"
import * as Profile from "../src/profile/Profile.ts"
import * as Routers from "../src/ports/Routers.ts"
import * as Standing from "../src/routing/Standing.ts"

const policy = Profile.resolve({ routing: { type: "fallback-chain", chains: { default: ["b/m"] } } })

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true }
const situation = (now: number): Directive.Situation => ({
  failure: overloaded,
  contentSeen: false,
  retries: 0,
  defects: 0,
  spent: { sleptMs: 0, elapsedMs: 0, spread: 0 },
  now
})
const question: Router.Question = {
  primary: { provider: "a", model: "m" },
  current: { target: { provider: "a", model: "m" } },
  state: undefined,
  request: { system: undefined, messages: [], tools: [] }
}

describe("a router", () => {
  it.effect("rule P8, P9: a finding of one turn routes the next turn elsewhere, until it is over", () =>
    Effect.gen(function* () {
      const router = yield* Router.Router
      const begunAt = (now: number) => Effect.map(router.begin(question, now), ({ route }) => route.target.provider)
      assert.strictEqual(yield* begunAt(0), "a")
      const directive = yield* router.direct(situation(0), question)
      assert.deepInclude(directive, { _tag: "Retry", delayMs: 0 })
      assert.strictEqual(yield* begunAt(0), "b")
      assert.strictEqual(yield* begunAt(360_000), "a")
    }).pipe(Effect.provide(Routers.layerMemory(policy)))
  )

  it.effect("rule C12: a success ends the findings of its own turn, and without findings nothing is stored", () =>
    Effect.gen(function* () {
      let stored = Standing.empty
      let notes = 0
      const router = Routers.make(policy, {
        credentials: {},
        models: {},
        countTokens: () => 0,
        load: () => Effect.sync(() => stored),
        note: (changes) => Effect.sync(() => void (notes++, (stored = Standing.merge(stored, changes))))
      })
      const route = { target: question.primary }
      const isPaused = () => Standing.of(stored, Standing.target(question.primary), 10) !== undefined
      const answered = router.answered ?? assert.fail("it handles no successes")
      yield* answered(route, 0, 0)
      assert.deepStrictEqual([notes, isPaused()], [0, false])
      yield* router.direct(situation(5), question)
      assert.deepStrictEqual([notes, isPaused()], [1, true])
      yield* answered(route, 4, 6)
      assert.deepStrictEqual([notes, isPaused()], [1, true])
      yield* answered(route, 6, 6)
      assert.deepStrictEqual([notes, isPaused()], [2, false])
    })
  )

  it.effect("rule C12: a success ends the findings of other turns that the turn last loaded", () =>
    Effect.gen(function* () {
      const thing = Standing.target(question.primary)
      const pause = { until: 1_000, reason: "overloaded", retryable: true, since: 0 } as const
      let stored = Standing.paused(thing, pause)
      const router = Routers.make(policy, {
        credentials: {},
        models: {},
        countTokens: () => 0,
        load: () => Effect.succeed(stored),
        note: (changes) => Effect.sync(() => void (stored = Standing.merge(stored, changes)))
      })
      yield* router.begin(question, 0)
      yield* (router.answered ?? assert.fail("it handles no successes"))({ target: question.primary }, 1, 1)
      assert.isUndefined(Standing.of(stored, thing, 10))
    })
  )

  it.effect("rule C12: a success of a turn that was resumed after a wait ends the pauses that other turns found", () =>
    Effect.gen(function* () {
      const thing = Standing.target(question.primary)
      let stored = Standing.paused(thing, { until: 1_000, reason: "overloaded", retryable: true, since: 0 })
      const resumed = Routers.make(policy, {
        credentials: {},
        models: {},
        countTokens: () => 0,
        load: () => Effect.succeed(stored),
        note: (changes) => Effect.sync(() => void (stored = Standing.merge(stored, changes)))
      })
      yield* (resumed.answered ?? assert.fail("it handles no successes"))({ target: question.primary }, 1, 1)
      assert.isUndefined(Standing.of(stored, thing, 10))
    })
  )

  it.effect("rule P15: stores no findings, and does not switch, while retries are switched off", () =>
    Effect.gen(function* () {
      let notes = 0
      const router = Routers.make(policy, {
        credentials: {},
        models: {},
        countTokens: () => 0,
        load: () => Effect.succeed(Standing.empty),
        note: () => Effect.sync(() => void notes++),
        isEnabled: () => false
      })
      const directive = yield* router.direct(situation(0), question)
      assert.deepInclude(directive, { _tag: "GiveUp", because: "exhausted" })
      assert.strictEqual(notes, 0)
    })
  )
})
