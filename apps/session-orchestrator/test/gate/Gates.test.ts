/** The gates of the service, by what turns meet. The figures of a crowd are compared with the simulation's. */
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
import { watching } from "../conversation/Given.ts"

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** What a crowd meets in the service, and in the simulation. */
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
    "X5: of 400 turns wastes few calls, and is served in about the time that it takes",
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
        // The picture in the docs is the simulation's: the service has to do what it does.
        const expected = simulated(turns, answers, true)
        assert.closeTo(endpoint.refused, expected.wasted, 0.05 * expected.wasted)
        assert.closeTo(endpoint.doneAt - until, expected.doneMs - until, 0.05 * (expected.doneMs - until))
      }),
    120_000
  )

  it.effect(
    "X5: calls an endpoint that comes and goes little more often than it answers",
    () =>
      Effect.gen(function* () {
        const from = 20 * MINUTE
        const isUp = (now: number) => now >= from && Math.floor((now - from) / MINUTE) % 2 === 0
        const endpoint = yield* crowd(250, (now, busy) => isUp(now) && busy < 30)
        assert.strictEqual(endpoint.answered, 250)
        assert.isAtMost(endpoint.calls.filter(({ at }) => at >= from).length / endpoint.answered, 1.1)
      }),
    120_000
  )

  it.effect(
    "X5: calls an endpoint that answers every other call twice for an answer",
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

  it.effect("X5: of turns that are held is taken up again by the next process, and none is lost", () =>
    onDisk(
      Effect.gen(function* () {
        const endpoint = new CrowdedEndpoint((now, busy) => now >= 20 * MINUTE && busy < 3)
        const turns = 60
        const first = yield* start({ endpoint })
        const ids = yield* prompts(first, turns, TestClock.adjust)
        while (endpoint.answered < 10) yield* TestClock.adjust("1 second")
        // In the middle of the ramp: some are being answered, some are asleep; then it is the time of many at once.
        yield* first.stop
        const before = endpoint.answered
        yield* TestClock.adjust("1 hour")
        const second = yield* start({ endpoint })
        yield* TestClock.adjust("31 seconds")
        // Those who are due and have not been let in say until when they wait.
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
        // What a process was in the middle of was shown, and is asked for once more; nothing else is answered twice.
        assert.isAtMost(endpoint.answered, turns)
      })
    )
  )
})

describe("turns of several runners before one endpoint", () => {
  const TURNS = 60
  const until = 20 * MINUTE

  /** A crowd on one runner, and a turn on another; whether and when that one is answered. */
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

  it.effect("X5: those that wait on one are woken early by what another has found", () =>
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
    "X5: two crowds are served in about the time that it takes, and waste half as many calls again as one",
    () =>
      onDisk(
        Effect.gen(function* () {
          const answers: Answers = (now, busy) => now >= until && busy < 20
          const endpoint = new CrowdedEndpoint(answers)
          const one = yield* start({ endpoint, gates: "shared" })
          const other = yield* start({ endpoint, gates: "shared" })
          const turns = 300
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
  it.effect("X5: that waits alone keeps its schedule to the millisecond", () =>
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

  it.effect("X5: is woken early into room that is there, and its record, its events and its explanation say so", () =>
    onDisk(
      Effect.gen(function* () {
        const endpoint = new CrowdedEndpoint((now, busy) => now >= 10 * MINUTE && busy < 5)
        const service = yield* start({ endpoint })
        const ids = yield* prompts(service, 20, TestClock.adjust)
        const told = yield* Effect.forEach(ids, (id) => watching(service.conversations.watch(id, 0)))
        yield* TestClock.adjust("1 hour")
        const early = yield* Effect.filter(
          ids.map((_, n) => n),
          (n) => isEarly(service, turnIdOf(n))
        )
        assert.isAbove(early.length, 10)
        const n = early[5] ?? 0
        const turnId = turnIdOf(n)
        const wait = told[n]?.seen.map(({ event }) => event).findLast(({ type }) => type === "provider-retry")
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
    it.effect(`X5: that waits ${where} is held while another one finds out, and shares what comes of it`, () =>
      onDisk(
        Effect.gen(function* () {
          const { due, endpoint, held, service } = yield* oneHeld(seconds)
          const { seen } = yield* watching(service.conversations.watch(held.id, 0))
          yield* TestClock.adjust("5 seconds")
          const state = yield* service.conversations.state(held.id)
          assert.strictEqual(state.status, "retrying")
          assert.strictEqual(state.retryAt, due + 15 * SECOND)
          yield* TestClock.adjust("20 seconds")
          const told = seen.flatMap(({ event }) => (event.type === "provider-retry" ? [event] : []))
          // It goes on longer than it was told, and longer again; then it is the next wait.
          assert.deepStrictEqual(
            told.map(({ attempt, retryAt }) => [attempt, retryAt - due]),
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
          assert.include(text, "Attempt 2 was not made, as another turn's had just failed here: overloaded, 529")

          endpoint.isUp = true
          endpoint.latencyMs = LATENCY_MS
          yield* TestClock.adjust("2 minutes")
          const { end } = yield* service.conversations.result(held.turnId)
          assert.strictEqual(end.status, "completed")
          // Honestly: those that were made.
          assert.strictEqual(end.attempts, endpoint.callsOf(held.turnId).length)
        })
      )
    )

    it.effect(`X4: that waits ${where} is not held when a person wants it to go on`, () =>
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

    it.effect(`X5: that waits ${where} is let in after the gate's limit, whatever the probe does`, () =>
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

  it.effect("X5: that has waited over a restart for what says nothing of its endpoint holds up nobody", () =>
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

/** Two turns that wait for `seconds`: the first one's retry takes `probeMs` to fail, and the second's is due meanwhile. */
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

/** What is said of a turn's attempts, decisions and waits. */
const explained = Effect.fnUntraced(function* ({ journal, store }: Service, turnId: Ids.TurnId) {
  const turn = yield* Effect.flatten(Effect.map(store.turn(turnId), Effect.fromOption))
  const conversation = yield* Effect.flatten(Effect.map(store.conversation(turn.conversationId), Effect.fromOption))
  const events = (yield* store.turnEvents(turnId)).map(({ event }) => event)
  const records = yield* journal.load(turnId)
  return Explanation.of({ turn, conversation, events, records }, (text) => text).steps.flatMap(({ attempts }) =>
    attempts.flatMap(({ decision, wait, words }) => [words, decision?.words ?? "", wait?.end?.words ?? ""])
  )
})
