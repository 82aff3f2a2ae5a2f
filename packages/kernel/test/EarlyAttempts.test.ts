/** Attempts that the gate makes early, and turns that it holds (X5, D2). */
import { assert, describe, it } from "@effect/vitest"
import { GivenRecords, Scenario, ScriptedProvider, TestRouter, TestStrategy } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type * as RetryStrategy from "../src/ports/RetryStrategy.ts"
import * as Records from "../src/records/Records.ts"
import * as Directive from "../src/turn/Directive.ts"
import * as Machine from "../src/turn/Machine.ts"

const { failed, retry, wake } = GivenRecords
const { answer, emits, overloaded } = ScriptedProvider

const early = { type: "now", early: true } as const

/** Delays of a schedule, in milliseconds; the budget is their sum. */
const SCHEDULE = [5_000, 10_000, 30_000, 60_000, 300_000]

const strategy: RetryStrategy.Deciding = {
  budget: { measure: "scheduled" },
  delayFor: (attempt) => (SCHEDULE[attempt] === undefined ? undefined : Duration.millis(SCHEDULE[attempt])),
  decide: (attempt, { hint }) => {
    const delayMs = SCHEDULE[attempt]
    if (delayMs === undefined) return undefined
    const atLeast = hint === undefined ? {} : { atLeast: Duration.millis(hint.retryAfterMs) }
    return { delay: Duration.millis(Math.max(delayMs, hint?.retryAfterMs ?? 0)), ...atLeast }
  }
}

const OFFERS: Machine.Offers = { tools: [], hasRouter: false, hasStrategy: true, hasCompactor: false }

/** One wait of a night: shares of it at which the gate wakes the turn early, how long those calls take, and how long the turn is held. */
const slot = fc.record({
  gifts: fc.array(fc.record({ share: fc.double({ min: 0, max: 0.9, noNaN: true }), tookMs: fc.nat(2_000) }), {
    maxLength: 5
  }),
  heldMs: fc.oneof(fc.constant(0), fc.nat(400_000)),
  isShared: fc.boolean()
})
type Slot = typeof slot extends fc.Arbitrary<infer A> ? A : never

/** The own attempts of a turn that is always refused, and what the budget was charged by each. */
const night = (slots: ReadonlyArray<Slot>) => {
  let now = 0
  let ledger = Machine.start({
    conversationId: Ids.ConversationId.make("c"),
    turnId: Ids.TurnId.make("t"),
    target: { provider: "p", model: "m" },
    history: [],
    prompt: "",
    startedAt: 0
  })
  const own: Array<{ readonly at: number; readonly sleptMs: number; readonly dueAt: number }> = []
  const waits: Array<{ readonly retryAt: number; readonly attempt: number; readonly spent: RetryStrategy.Spent }> = []
  let gifts = 0
  let at = 0
  let dueAt = 0
  let used = 0
  const open = slots.map((each) => ({ ...each, gifts: [...each.gifts].sort((a, b) => a.share - b.share) }))
  const fail = (tookMs: number, isShared: boolean) => {
    now += tookMs
    return { ...overloaded, ...(isShared ? { shared: true as const } : undefined) }
  }
  let tookMs = 0
  let isShared = false
  for (;;) {
    const next = Machine.next(ledger, OFFERS)
    ledger = next.ledger
    const [command] = next.commands
    if (command === undefined) return { own, waits, gifts, end: ledger, endedAt: now }
    const { number, step } = command
    switch (command._tag) {
      case "Call": {
        const failure = fail(tookMs, isShared)
        ledger = Machine.evolve(ledger, {
          kind: "Attempt",
          step,
          number,
          value: { _tag: "Failed", content: [], contentSeen: false, failure, spread: 0, endedAt: now }
        })
        break
      }
      case "Decide": {
        const { situation } = command
        if (situation.interrupted === undefined) own.push({ at: now, sleptMs: situation.spent.sleptMs, dueAt })
        else gifts++
        const value = Directive.decide({ ...situation, now }, strategy)
        if (value._tag === "Retry")
          waits.push({ retryAt: value.retryAt, attempt: value.attempt, spent: situation.spent })
        ledger = Machine.evolve(ledger, { kind: "Decision", step, number, value })
        break
      }
      case "Wait": {
        const { retryAt, retry } = command.wait
        if (retry.resumes !== true) {
          at = now
          dueAt = retryAt
        }
        const slot = open[retry.attempt]
        const gift = slot?.gifts.shift()
        const wakeAt = gift === undefined ? retryAt : Math.max(now, at + Math.floor((dueAt - at) * gift.share))
        if (gift !== undefined && wakeAt + gift.tookMs < retryAt) {
          now = wakeAt
          tookMs = gift.tookMs
          isShared = false
          ledger = Machine.evolve(ledger, { kind: "Wake", step, number, value: { ...early, at: now } })
          break
        }
        if (gift !== undefined) slot?.gifts.splice(0)
        const heldMs = slot?.heldMs ?? 0
        used++
        now = retryAt + heldMs
        tookMs = 0
        isShared = slot?.isShared === true
        ledger = Machine.evolve(ledger, {
          kind: "Wake",
          step,
          number,
          value: { type: "elapsed", at: now, ...(heldMs > 0 ? { heldMs } : undefined) }
        })
        break
      }
      case "Seal":
        ledger = Machine.evolve(ledger, { kind: "Seal", step: 0, number: 0, value: { at: now } })
        break
      default:
        throw new Error(`unexpected: ${command._tag} after ${used} waits`)
    }
  }
}

const moments = SCHEDULE.map((_, i) => SCHEDULE.slice(0, i + 1).reduce((a, b) => a + b, 0))

describe("early attempts and holds, over generated nights", () => {
  const slots = fc.array(slot, { minLength: SCHEDULE.length, maxLength: SCHEDULE.length })

  it("rule D2: after any number of early attempts that fail in time, attempt, budget and due time are those before", () =>
    fc.assert(
      fc.property(slots, (slots) => {
        const { own, end } = night(slots.map((each) => ({ ...each, heldMs: 0 })))
        assert.deepStrictEqual(
          own.map(({ at, sleptMs }) => [at, sleptMs]),
          [0, ...moments].map((at) => [at, at])
        )
        assert.strictEqual(end.tally.sleptMs, moments.at(-1))
      })
    ))

  it("rule X5: an own attempt is as late as its turn was held, and the next one as if it had not been, at least 1 s later", () =>
    fc.assert(
      fc.property(slots, (slots) => {
        const { own, waits } = night(slots.map((each) => ({ ...each, gifts: [] })))
        for (const [i, { at, sleptMs }] of own.entries()) {
          assert.strictEqual(sleptMs, moments[i - 1] ?? 0)
          const wait = waits[i]
          if (wait === undefined) continue
          const heldMs = i === 0 ? 0 : (slots[i - 1]?.heldMs ?? 0)
          assert.strictEqual(wait.retryAt, Math.max(at - heldMs + (SCHEDULE[i] ?? 0), at + 1_000))
        }
      })
    ))

  it("rule D2: a turn gives up after the sum of its schedule at the earliest, whatever the gate did", () =>
    fc.assert(
      fc.property(slots, (slots) => {
        const { end, endedAt } = night(slots)
        assert.strictEqual(end.tally.sleptMs, moments.at(-1))
        assert.isAtLeast(endedAt, moments.at(-1) ?? Infinity)
        assert.strictEqual(end.phase._tag, "Sealed")
      })
    ))
})

describe("an early attempt", () => {
  it.each([
    ["before its wait (a clock was set back)", -1, undefined],
    ["in its wait", 10_001, 10_001],
    ["just before the end of its wait", 59_999, 59_999],
    ["at the end of its wait", 60_000, undefined],
    ["after the end of its wait", 60_001, 1]
  ] as const)("rule D2, X5: that fails %s has passed its part of the next wait", (_, endedAt, passedMs) => {
    const { conversationId, target, turnId } = Scenario
    const records = [failed(0, 0), retry(0, 60_000, 60_000), wake(0, 0, { ...early, at: 10_000 }), failed(1, endedAt)]
    const ledger = records
      .flatMap((stored) => Records.parse(stored) ?? [])
      .reduce(Machine.evolve, Machine.start({ conversationId, turnId, target, history: [], prompt: "", startedAt: 0 }))
    const [command] = Machine.next(ledger, OFFERS).commands
    assert.strictEqual(command?._tag === "Decide" && command.situation.passedMs, passedMs)
    assert.strictEqual(
      command?._tag === "Decide" && command.situation.interrupted?.retryAt,
      endedAt < 60_000 ? 60_000 : undefined
    )
  })

  Scenario.bothWays(
    "rule X5: that fails in time is announced to nobody, and its turn goes back to the same wait",
    (start) =>
      Effect.gen(function* () {
        const strategy = new TestStrategy.TestStrategy({ delays: [60_000, 300_000] })
        const scripts = [emits(overloaded), emits(overloaded), emits(overloaded), answer("ok")]
        const { fiber, provider, sink } = yield* start({ scripts, strategy })
        yield* TestClock.adjust(Duration.seconds(10))
        yield* strategy.wake(early)
        yield* TestClock.adjust(Duration.seconds(10))
        assert.strictEqual(provider.requests.length, 2)
        yield* strategy.wake(early)
        yield* TestClock.adjust(Duration.seconds(39))
        assert.strictEqual(provider.requests.length, 3)
        yield* TestClock.adjust(Duration.seconds(1))
        const end = yield* Fiber.join(fiber)
        assert.strictEqual(end.status, "completed")
        assert.strictEqual(end.attempts, 4)
        assert.strictEqual(end.sleptMs, 60_000)
        assert.strictEqual(end.waitedMs, 60_000)
        assert.deepStrictEqual(
          [...new Set(sink.of("provider-retry").map(({ attempt, retryAt }) => `${attempt} ${retryAt}`))],
          ["0 60000"]
        )
        assert.deepStrictEqual(
          sink.events.flatMap((event) => (event.type === "retry-end" ? [event.attempt] : [])),
          [0]
        )
      })
  )

  Scenario.bothWays("rule X5: that is answered costs its turn no budget", (start) =>
    Effect.gen(function* () {
      const strategy = new TestStrategy.TestStrategy({ delays: [60_000] })
      const { fiber } = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy })
      yield* TestClock.adjust(Duration.seconds(10))
      yield* strategy.wake(early)
      const end = yield* Fiber.join(fiber)
      assert.deepStrictEqual([end.status, end.sleptMs, end.waitedMs], ["completed", 0, 10_000])
    })
  )

  Scenario.bothWays("rule D2: that fails after the end of its wait is the attempt at that end", (start) =>
    Effect.gen(function* () {
      const strategy = new TestStrategy.TestStrategy({ delays: [60_000, 300_000] })
      const slow = ScriptedProvider.throws(overloaded)
      const scripts = [emits(overloaded), { ...slow, end: Effect.delay(slow.end, Duration.seconds(70)) }, answer("ok")]
      const { fiber, sink } = yield* start({ scripts, strategy })
      yield* TestClock.adjust(Duration.seconds(10))
      yield* strategy.wake(early)
      yield* TestClock.adjust(Duration.seconds(70))
      // 60 s were waited, and the next wait counts from their end.
      assert.strictEqual(sink.of("provider-retry").at(-1)?.retryAt, 360_000)
      yield* TestClock.adjust(Duration.seconds(280))
      const end = yield* Fiber.join(fiber)
      assert.deepStrictEqual([end.status, end.sleptMs], ["completed", 360_000])
    })
  )
})

describe("an early attempt that is refused for another reason, so that its turn cannot go back to the wait", () => {
  const denied = { reason: "auth", message: "The key is wrong.", retryable: false } as const

  /** A router that waits as long for any failure. */
  const waits = (delayMs: number) => new TestRouter.TestRouter({ direct: () => ({ delayMs }) })

  Scenario.bothWays(
    "rule X5: costs no step of the schedule, and the wait in its place is less what has passed",
    (start) =>
      Effect.gen(function* () {
        const strategy = new TestStrategy.TestStrategy({ delays: [60_000, 300_000] })
        const router = waits(60_000)
        const scripts = [emits(overloaded), emits(denied), emits(denied), emits(overloaded), answer("ok")]
        const { fiber, sink } = yield* start({ scripts, strategy, services: router.layer })
        for (const seconds of [10, 20]) {
          yield* TestClock.adjust(Duration.seconds(seconds))
          yield* strategy.wake(early)
        }
        yield* TestClock.adjust(Duration.seconds(90))
        const end = yield* Fiber.join(fiber)
        assert.deepStrictEqual([end.status, end.sleptMs, end.waitedMs], ["completed", 120_000, 120_000])
        assert.deepStrictEqual(
          router.asked.map(([{ retries, spent }]) => [retries, spent.sleptMs]),
          [0, 0, 0, 60_000].map((sleptMs) => [sleptMs / 60_000, sleptMs])
        )
        assert.deepStrictEqual(
          [...new Set(sink.of("provider-retry").map(({ attempt, retryAt }) => `${attempt} ${retryAt}`))],
          ["0 60000", "1 120000"]
        )
      })
  )

  Scenario.bothWays("rule P3: leaves no budget for a second wait as long as the first", (start) =>
    Effect.gen(function* () {
      const strategy = new TestStrategy.TestStrategy({ delays: [60_000] })
      const router = waits(60_000)
      const scripts = [emits(overloaded), emits(denied), answer("ok")]
      const { fiber } = yield* start({ scripts, strategy, services: router.layer })
      yield* TestClock.adjust(Duration.seconds(59))
      yield* strategy.wake(early)
      // A wait is never shorter than a second.
      yield* TestClock.adjust(Duration.seconds(1))
      const end = yield* Fiber.join(fiber)
      assert.deepStrictEqual([end.status, end.sleptMs, end.waitedMs], ["completed", 60_000, 60_000])
    })
  )
})

describe("a handler that answers each wait", () => {
  for (const command of [
    { type: "extended", byMs: 1_000 },
    { type: "until", until: 60_000 }
  ] as const) {
    it.effect(`rule D5: gets the same wait once, however often it sends \`${command.type}\``, () =>
      Effect.gen(function* () {
        const strategy = new TestStrategy.TestStrategy({ delays: [60_000] })
        const { fiber, sink } = yield* Scenario.straight({ scripts: [emits(overloaded), answer("ok")], strategy })
        yield* TestClock.adjust(Duration.seconds(1))
        for (let n = 0; n < 3; n++) {
          yield* strategy.wake(command)
          yield* TestClock.adjust(Duration.seconds(1))
        }
        assert.strictEqual(sink.of("provider-retry").length, 1)
        yield* strategy.wake({ type: "until", until: 50_000 })
        yield* TestClock.adjust(Duration.seconds(60))
        assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
        assert.deepStrictEqual(
          sink.of("provider-retry").map(({ retryAt }) => retryAt),
          [60_000, 50_000]
        )
      })
    )
  }
})
