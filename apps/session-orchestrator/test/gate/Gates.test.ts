/** Tests the gates in the whole service. A crowd's figures are compared with the simulation's. */
import { assert, describe, it } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import { Crowd, Profile } from "@holdfast/policy"
import { Ids } from "@holdfast/wire"
import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { HOLD_LIMIT_MS } from "../../src/gate/Gatekeeper.ts"
import * as Explanation from "../../src/inspection/Explanation.ts"
import {
  type Answers,
  CrowdedEndpoint,
  LATENCY_MS,
  onDisk,
  prompts,
  SERVICE_MS,
  type Service,
  start,
  turnIdOf
} from "../conversation/CrowdedEndpoint.ts"
import { watching } from "../conversation/ConversationSetup.ts"

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** A crowd in the service, and the same crowd in the simulation. */
const crowd = (turns: number, answers: Answers) =>
  onDisk(
    Effect.gen(function* () {
      const endpoint = new CrowdedEndpoint(answers)
      const service = yield* start({ endpoint })
      yield* prompts(service, turns, TestClock.adjust)
      for (let hour = 0; hour < 9 && endpoint.answered < turns; hour++) yield* TestClock.adjust(Duration.hours(1))
      return endpoint
    })
  )

const simulated = (turns: number, answers: Answers, gated: boolean) =>
  Crowd.play({
    turns,
    policy: Profile.profiles.overnight,
    endpoint: { answers, latencyMs: LATENCY_MS, serviceMs: SERVICE_MS },
    arrivalMs: MINUTE,
    gated
  })

describe("a crowd before one endpoint", () => {
  it.effect(
    "X5: 400 turns waste few calls, and are served in about the minimum time",
    () =>
      Effect.gen(function* () {
        const [turns, room] = [400, 20]
        const until = 5 * MINUTE
        const answers: Answers = (now, busy) => now >= until && busy < room
        const idealMs = (turns / room) * SERVICE_MS
        const endpoint = yield* crowd(turns, answers)
        assert.strictEqual(endpoint.answered, turns)
        assert.isAtMost(endpoint.refused, 0.05 * simulated(turns, answers, false).wasted)
        assert.isAtMost(endpoint.doneAt - until, 1.25 * idealMs)
        // The picture in the docs is the simulation's: the service has to match it.
        const expected = simulated(turns, answers, true)
        assert.closeTo(endpoint.refused, expected.wasted, 0.05 * expected.wasted)
        assert.closeTo(endpoint.doneAt - until, expected.doneMs - until, 0.05 * (expected.doneMs - until))
      }),
    120_000
  )

  it.effect(
    "X5: an endpoint that comes and goes is called little more often than it answers",
    () =>
      Effect.gen(function* () {
        const from = 20 * MINUTE
        const isUp = (now: number) => now >= from && Math.floor((now - from) / MINUTE) % 2 === 0
        const endpoint = yield* crowd(200, (now, busy) => isUp(now) && busy < 30)
        assert.strictEqual(endpoint.answered, 200)
        assert.isAtMost(endpoint.calls.filter(({ at }) => at >= from).length / endpoint.answered, 1.1)
      }),
    120_000
  )

  it.effect(
    "X5: an endpoint that answers every other call is called twice per answer",
    () =>
      Effect.gen(function* () {
        const from = 20 * MINUTE
        let calls = 0
        const endpoint = yield* crowd(100, (now, busy) => now >= from && busy < 10 && calls++ % 2 === 0)
        assert.strictEqual(endpoint.answered, 100)
        assert.isAtMost(endpoint.calls.filter(({ at }) => at >= from).length / (2 * endpoint.answered), 1.1)
      }),
    120_000
  )

  it.effect("X5: held turns are taken up by the next process, and none is lost", () =>
    onDisk(
      Effect.gen(function* () {
        const endpoint = new CrowdedEndpoint((now, busy) => now >= 20 * MINUTE && busy < 3)
        const turns = 60
        const first = yield* start({ endpoint })
        const ids = yield* prompts(first, turns, TestClock.adjust)
        while (endpoint.answered < 10) yield* TestClock.adjust("1 second")
        // In the middle of the ramp some turns are being answered, some are asleep; then many are due at once.
        yield* first.stop
        const before = endpoint.answered
        yield* TestClock.adjust("1 hour")
        const second = yield* start({ endpoint })
        yield* TestClock.adjust("31 seconds")
        // Turns that are due and not admitted announce until when they wait.
        const now = yield* Clock.currentTimeMillis
        const states = yield* Effect.forEach(ids, (id) => second.conversations.state(id))
        const held = states.filter(({ retryAt = 0, status }) => status === "retrying" && retryAt > now)
        assert.isAbove(held.length, 10)
        yield* second.stop
        const third = yield* start({ endpoint })
        yield* TestClock.adjust("1 hour")
        assert.isBelow(before, turns)
        const ends = yield* Effect.forEach(ids, (_, n) => third.conversations.result(turnIdOf(n)))
        assert.isTrue(ends.every(({ end, text }) => end.status === "completed" && text === "At last"))
        // An answer in progress at the crash was shown, and is requested once more; nothing else is answered twice.
        assert.isAtMost(endpoint.answered, turns)
      })
    )
  )
})

describe("turns of several runners before one endpoint", () => {
  const TURNS = 60
  const until = 20 * MINUTE

  /** A crowd on one runner, and a turn on another; whether and when that turn is answered. */
  const play = (gates: "own" | "shared") =>
    onDisk(
      Effect.gen(function* () {
        const from = yield* Clock.currentTimeMillis
        const endpoint = new CrowdedEndpoint((now, busy) => now - from >= until && busy < 10)
        const one = yield* start({ endpoint, gates })
        const other = yield* start({ endpoint, gates })
        const id = yield* other.conversations.create({})
        const turnId = Ids.TurnId.make("elsewhere")
        yield* other.conversations.prompt(id, { prompt: "Hi", turnId })
        yield* prompts(one, TURNS, TestClock.adjust)
        for (let hour = 0; hour < 9 && endpoint.answered <= TURNS; hour++) yield* TestClock.adjust("1 hour")
        const { end } = yield* other.conversations.result(turnId)
        assert.strictEqual(end.status, "completed")
        return { answeredAt: end.endedAt - from, isEarly: yield* isEarly(other, turnId), refused: endpoint.refused }
      })
    )

  it.effect("X5: the turns of one runner are woken early by the findings of another", () =>
    Effect.gen(function* () {
      const shared = yield* play("shared")
      assert.isTrue(shared.isEarly)
      assert.isBelow(shared.answeredAt, until + 10 * MINUTE)
      const apart = yield* play("own")
      assert.isFalse(apart.isEarly)
      assert.isAbove(apart.answeredAt, until + 10 * MINUTE)
    })
  )

  it.effect(
    "X5: two crowds are served in about the minimum time, and waste half as many calls again as one",
    () =>
      onDisk(
        Effect.gen(function* () {
          const answers: Answers = (now, busy) => now >= until && busy < 20
          const endpoint = new CrowdedEndpoint(answers)
          const one = yield* start({ endpoint, gates: "shared" })
          const other = yield* start({ endpoint, gates: "shared" })
          const turns = 240
          for (let n = 0; n < turns; n++) {
            const { conversations } = n % 2 === 0 ? one : other
            const id = yield* conversations.create({})
            yield* conversations.prompt(id, { prompt: "Hi", turnId: turnIdOf(n) })
            yield* TestClock.adjust(MINUTE / turns)
          }
          for (let hour = 0; hour < 9 && endpoint.answered < turns; hour++) yield* TestClock.adjust("1 hour")
          assert.strictEqual(endpoint.answered, turns)
          const single = simulated(turns, answers, true)
          assert.isAtMost(endpoint.refused, 1.6 * single.wasted)
          assert.isAtMost(endpoint.doneAt - until, 1.25 * (single.doneMs - until))
        })
      ),
    120_000
  )
})

describe("a turn at the gate", () => {
  it.effect("X5: alone keeps its schedule to the millisecond", () =>
    Effect.gen(function* () {
      const times = (gates: "none" | "own") =>
        onDisk(
          Effect.gen(function* () {
            const from = yield* Clock.currentTimeMillis
            const endpoint = new CrowdedEndpoint((now) => now - from >= 3 * HOUR)
            const service = yield* start({ endpoint, gates })
            yield* prompts(service, 1, TestClock.adjust)
            yield* TestClock.adjust("5 hours")
            return endpoint.calls.map(({ at }) => at - from)
          })
        )
      const gated = yield* times("own")
      assert.isAbove(gated.length, 10)
      assert.deepStrictEqual(gated, yield* times("none"))
    })
  )

  it.effect("X5: is woken early when there is room, and its record, its events and its explanation show it", () =>
    onDisk(
      Effect.gen(function* () {
        const endpoint = new CrowdedEndpoint((now, busy) => now >= 10 * MINUTE && busy < 5)
        const service = yield* start({ endpoint })
        const ids = yield* prompts(service, 20, TestClock.adjust)
        const watchers = yield* Effect.forEach(ids, (id) => watching(service.conversations.watch(id, 0)))
        yield* TestClock.adjust("1 hour")
        const early = yield* Effect.filter(
          ids.map((_, n) => n),
          (n) => isEarly(service, turnIdOf(n))
        )
        assert.isAbove(early.length, 10)
        const n = early[5] ?? 0
        const turnId = turnIdOf(n)
        const wait = watchers[n]?.seen.map(({ event }) => event).findLast(({ type }) => type === "provider-retry")
        const called = endpoint.calls.findLast((call) => call.turnId === turnId)
        assert.isBelow(called?.at ?? Infinity, wait?.type === "provider-retry" ? wait.retryAt : 0)
        const text = (yield* explained(service, turnId)).join("\n")
        assert.include(text, "The wait was ended early by the gate: the endpoint answers again (X5).")
      })
    )
  )

  for (const [where, seconds] of [
    ["in memory", 3],
    ["on disk", 10]
  ] as const) {
    it.effect(`X5: that waits ${where} is held while another turn probes, and shares the outcome`, () =>
      onDisk(
        Effect.gen(function* () {
          const { due, endpoint, held, service } = yield* oneHeld(seconds)
          const { seen } = yield* watching(service.conversations.watch(held.id, 0))
          yield* TestClock.adjust("5 seconds")
          const state = yield* service.conversations.state(held.id)
          assert.strictEqual(state.status, "retrying")
          assert.strictEqual(state.retryAt, due + 15 * SECOND)
          yield* TestClock.adjust("20 seconds")
          const announced = seen.flatMap(({ event }) => (event.type === "provider-retry" ? [event] : []))
          // Its hold is announced, prolonged, and prolonged again; then comes the next wait.
          assert.deepStrictEqual(
            announced.map(({ attempt, retryAt }) => [attempt, retryAt - due]),
            [
              [0, 15 * SECOND],
              [0, 30 * SECOND],
              [1, 19_500 + MINUTE]
            ]
          )
          assert.strictEqual(endpoint.callsOf(held.turnId).length, 1)
          const [wake] = yield* wakesOf(service, held.turnId)
          assert.strictEqual(wake?.type === "elapsed" ? wake.heldMs : undefined, 19_500)
          const text = (yield* explained(service, held.turnId)).join("\n")
          assert.include(text, "The wait was over, and the turn was held for 19.5 s until the gate let it in (X5).")
          assert.include(
            text,
            "Attempt 2 was not made, because another turn's call had just failed here: overloaded, 529"
          )

          endpoint.isUp = true
          endpoint.latencyMs = LATENCY_MS
          yield* TestClock.adjust("2 minutes")
          const { end } = yield* service.conversations.result(held.turnId)
          assert.strictEqual(end.status, "completed")
          // Only the calls that were made are counted.
          assert.strictEqual(end.attempts, endpoint.callsOf(held.turnId).length)
        })
      )
    )

    it.effect(`X4: that waits ${where} is not held after a person's command to continue`, () =>
      onDisk(
        Effect.gen(function* () {
          const { endpoint, held, service } = yield* oneHeld(seconds)
          yield* TestClock.adjust("1 second")
          assert.isTrue(
            yield* service.conversations.steer({ type: "retry-now", conversationId: held.id }, "a person", held.turnId)
          )
          yield* TestClock.adjust(1)
          assert.strictEqual(endpoint.callsOf(held.turnId).length, 2)
        })
      )
    )

    it.effect(`X5: that waits ${where} is admitted after the gate's limit, whatever the probe does`, () =>
      onDisk(
        Effect.gen(function* () {
          const { due, endpoint, held } = yield* oneHeld(seconds, 2 * HOUR)
          yield* TestClock.adjust("1 hour")
          const [, call] = endpoint.callsOf(held.turnId)
          assert.strictEqual(call, due + HOLD_LIMIT_MS)
        })
      )
    )
  }

  it.effect("X5: that has waited over a restart for a failure of its own request holds no other turn", () =>
    onDisk(
      Effect.gen(function* () {
        const endpoint = new Switched()
        endpoint.refusal = { reason: "invalid-response", message: "No JSON", retryable: true }
        const retry = { schedule: { type: "steps", delays: [Duration.minutes(1)] } } as const
        const first = yield* start({ endpoint, retry })
        const turns = 5
        yield* prompts(first, turns, TestClock.adjust, SECOND)
        yield* TestClock.adjust("10 seconds")
        yield* first.stop
        endpoint.isUp = true
        yield* start({ endpoint, retry })
        yield* TestClock.adjust("2 minutes")
        for (let n = 0; n < turns; n++) {
          const [call = 0, ...retries] = endpoint.callsOf(turnIdOf(n))
          assert.deepStrictEqual(retries, [call + LATENCY_MS + MINUTE])
        }
      })
    )
  )

  it.effect("A15: is not woken before the time that its provider asked for", () =>
    onDisk(
      Effect.gen(function* () {
        const endpoint = new CrowdedEndpoint((now, busy) => now >= 4 * MINUTE && busy < 5)
        endpoint.hintOf = (turnId) => (turnId === turnIdOf(0) ? 30 * MINUTE : undefined)
        const service = yield* start({ endpoint })
        yield* prompts(service, 20, TestClock.adjust)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(endpoint.answered, 20)
        const [first = 0, second = 0] = endpoint.callsOf(turnIdOf(0))
        assert.isAtLeast(second - first, 30 * MINUTE)
        const others = endpoint.calls.filter(({ turnId }) => turnId !== turnIdOf(0))
        assert.isBelow(others.at(-1)?.at ?? Infinity, 15 * MINUTE)
      })
    )
  )
})

// --- helpers

/** Two turns that wait for `seconds`: the first one's retry takes `probeMs` to fail, and the second is due meanwhile. */
const oneHeld = Effect.fnUntraced(function* (seconds: number, probeMs = 20 * SECOND) {
  const endpoint = new Switched()
  const retry = {
    schedule: { type: "steps", delays: [Duration.seconds(seconds)], tail: Duration.minutes(1) },
    requestTimeout: { firstContent: Duration.hours(10) }
  } as const
  const service = yield* start({ endpoint, retry })
  const [, id] = yield* prompts(service, 2, TestClock.adjust, SECOND)
  yield* TestClock.adjust(LATENCY_MS + SECOND)
  endpoint.latencyMs = probeMs
  yield* TestClock.adjust(seconds * SECOND - SECOND)
  if (id === undefined) return yield* Effect.die("two were prompted")
  const turnId = turnIdOf(1)
  const due = (endpoint.callsOf(turnId)[0] ?? 0) + LATENCY_MS + seconds * SECOND
  return { endpoint, service, held: { id, turnId }, due }
})

class Switched extends CrowdedEndpoint {
  isUp = false
  constructor() {
    super(() => this.isUp)
  }
}

const wakesOf = ({ journal }: Service, turnId: Ids.TurnId) =>
  Effect.map(journal.load(turnId), (records) => records.flatMap((record) => Records.valueOf("Wake", record) ?? []))

const isEarly = (service: Service, turnId: Ids.TurnId) =>
  Effect.map(wakesOf(service, turnId), (wakes) => wakes.some(({ by }) => by?.origin.startsWith("the gate") === true))

/** The explanation of a turn's attempts, decisions and waits. */
const explained = Effect.fnUntraced(function* ({ journal, store }: Service, turnId: Ids.TurnId) {
  const turn = yield* Effect.flatten(Effect.map(store.turn(turnId), Effect.fromOption))
  const conversation = yield* Effect.flatten(Effect.map(store.conversation(turn.conversationId), Effect.fromOption))
  const events = (yield* store.turnEvents(turnId)).map(({ event }) => event)
  const records = yield* journal.load(turnId)
  return Explanation.of({ turn, conversation, events, records }, (text) => text).steps.flatMap(({ attempts }) =>
    attempts.flatMap(({ decision, wait, words }) => [words, decision?.words ?? "", wait?.end?.words ?? ""])
  )
})
