/** Tests a turn at the gate, in the whole service. */
import { assert, describe, it } from "@effect/vitest"
import { Gate } from "@holdfast/policy"
import type { Ids } from "@holdfast/wire"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  CrowdedEndpoint,
  explained,
  isEarly,
  LATENCY_MS,
  onDisk,
  prompts,
  type Service,
  start,
  turnIdOf,
  wakesOf
} from "../conversation/CrowdedEndpoint.ts"
import { watching } from "../conversation/ConversationSetup.ts"

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

describe("a turn at the gate", () => {
  it.effect("rule X5: is woken early when there is room, and its record, its events and its explanation show it", () =>
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
        const text = (yield* wordsOf(service, turnId)).join("\n")
        assert.include(text, "The wait was ended early by the gate: the endpoint answers again.")
      })
    )
  )

  for (const [where, seconds] of [
    ["in memory", 3],
    ["on disk", 10]
  ] as const) {
    it.effect(`rule X5: that waits ${where} for a full endpoint is held until a place is free`, () =>
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
          assert.deepStrictEqual(
            announced.map(({ attempt, retryAt }) => [attempt, retryAt - due]),
            [
              [0, 15 * SECOND],
              [0, 30 * SECOND]
            ]
          )
          assert.strictEqual(endpoint.callsOf(held.turnId).length, 1)
          yield* TestClock.adjust("1 minute")
          const heldMs = (endpoint.callsOf(held.turnId)[1] ?? 0) - due
          assert.strictEqual((endpoint.callsOf(turnIdOf(0))[0] ?? 0) + endpoint.serviceMs, due + heldMs)
          const [wake] = yield* wakesOf(service, held.turnId)
          assert.strictEqual(wake?.type === "elapsed" ? wake.heldMs : undefined, heldMs)
          const text = (yield* wordsOf(service, held.turnId)).join("\n")
          assert.include(
            text,
            `The wait was over, and the turn was held for ${heldMs / SECOND} s until the gate let it in.`
          )
          const { end } = yield* service.conversations.result(held.turnId)
          assert.strictEqual(end.status, "completed")
          assert.strictEqual(end.attempts, endpoint.callsOf(held.turnId).length)
        })
      )
    )

    it.effect(`rule X4: that waits ${where} is not held after a person's command to continue`, () =>
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

    it.effect(
      `rule X5: that waits ${where} is admitted after the gate's limit, however long the others' answers take`,
      () =>
        onDisk(
          Effect.gen(function* () {
            const { due, endpoint, held } = yield* oneHeld(seconds, 2 * HOUR)
            yield* TestClock.adjust("1 hour")
            const [, call] = endpoint.callsOf(held.turnId)
            assert.strictEqual(call, due + Gate.HOLD_LIMIT_MS)
          })
        )
    )
  }
})

// --- helpers

/** The endpoint has room for one turn, whose answer takes `serviceMs`; another was refused, and its wait of `seconds` is over. */
const oneHeld = Effect.fnUntraced(function* (seconds: number, serviceMs = 40 * SECOND) {
  const endpoint = new CrowdedEndpoint((_, busy) => busy < 1)
  endpoint.serviceMs = serviceMs
  const retry = {
    schedule: { type: "steps", delays: [Duration.seconds(seconds)], tail: Duration.minutes(1) },
    requestTimeout: { idle: Duration.hours(10) }
  } as const
  const service = yield* start({ endpoint, retry })
  const [, id] = yield* prompts(service, 2, TestClock.adjust, SECOND)
  yield* TestClock.adjust(LATENCY_MS + seconds * SECOND)
  if (id === undefined) return yield* Effect.die("two were prompted")
  const turnId = turnIdOf(1)
  const due = (endpoint.callsOf(turnId)[0] ?? 0) + LATENCY_MS + seconds * SECOND
  return { endpoint, service, held: { id, turnId }, due }
})

/** The words of a turn's attempts, decisions and waits. */
const wordsOf = (service: Service, turnId: Ids.TurnId) =>
  Effect.map(explained(service, turnId), (attempts) =>
    attempts.flatMap(({ decision, wait, words }) => [words, decision?.words ?? "", wait?.end?.words ?? ""])
  )
