/** Tests the waits that a conversation's state has beyond the present one, against those that then come. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { StorageError } from "@holdfast/journal"
import type { Profile } from "@holdfast/policy"
import { type ConversationState, type Failure, Ids } from "@holdfast/wire"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { TurnLog } from "../../../src/storage/TurnLog.ts"
import { asking, waits, watching, withService } from "../conversation/ConversationSetup.ts"

const { emits, overloaded } = ScriptedProvider

/** Of targets in turn each is asked at once, unless it could not be reached. */
const error = ({ routing }: Profile.RetrySettings): Failure.Failure =>
  routing?.type === "round-robin" ? { reason: "network", message: "Reset", retryable: true } : overloaded

/** The waits of a turn whose provider stays overloaded: the state of each, until the turn has failed. */
const statesOf = (retry: Profile.RetrySettings, check: (states: ReadonlyArray<ConversationState.RetryState>) => void) =>
  withService({ scripts: Array.from({ length: 60 }, () => emits(error(retry))), retry }, function* ({ conversations }) {
    const c = yield* conversations.create({})
    const turnId = yield* conversations.prompt(c, { prompt: "Hi", turnId: Ids.TurnId.make("a") })
    const ended = yield* asking(conversations.result(turnId))
    const watcher = yield* watching(conversations.watchTurn(turnId))
    const states: Array<ConversationState.RetryState> = []
    for (let seen = 0; ; seen++) {
      yield* Effect.repeat(Effect.yieldNow, {
        until: () =>
          watcher.types().includes("turn-end") ||
          watcher.types().filter((type) => type === "provider-retry").length > seen
      })
      if (watcher.types().includes("turn-end")) break
      const { retry } = yield* conversations.state(c)
      // An attempt on another target has no wait before it.
      if (retry === undefined) continue
      states.push(retry)
      yield* TestClock.adjust(Duration.millis(retry.delayMs))
    }
    assert.strictEqual(ended.pollUnsafe()?._tag, "Success")
    check(states)
  })

const CASES: ReadonlyArray<readonly [name: string, retry: Profile.RetrySettings]> = [
  ["the beginning of a night", { budget: Duration.hours(1) }],
  ["a budget that clips", { budget: { total: Duration.seconds(90), clip: true } }],
  ["a budget by the clock", { budget: Duration.minutes(20), measure: "wall-clock" }],
  ["few retries", { profile: "interactive" }],
  [
    "a limit of the longest wait",
    { schedule: { type: "exponential", base: Duration.seconds(2), factor: 3 }, maxDelay: Duration.minutes(1) }
  ],
  ["limits of one reason", { reasons: { overloaded: { maxRetries: 3 } } }],
  ["more retries than a night has", waits(...Array.from({ length: 40 }, () => 1))],
  ["a chain without targets", { ...waits(2, 2), routing: { type: "fallback-chain", chains: { default: [] } } }],
  ["one target in turn", { ...waits(2, 2), routing: { type: "round-robin", targets: ["test/m"] } }]
]

describe("the waits that follow the present one", () => {
  for (const [name, retry] of CASES) {
    it.effect(`rule D13: are those that then come: ${name}`, () =>
      statesOf(retry, (states) => {
        assert.isAbove(states.length, 1)
        const delays = states.map(({ delayMs }) => delayMs)
        for (const [index, { upcoming }] of states.entries()) {
          const left = delays.slice(index + 1)
          assert.deepStrictEqual(upcoming?.delaysMs, left.slice(0, 32))
          assert.strictEqual(upcoming?.because === undefined, left.length > 32)
          assert.isUndefined(upcoming?.jitter)
        }
      })
    )
  }

  it.effect("rule D13: are bounds where a part is drawn at random", () =>
    statesOf({ ...waits(4, 4, 8, 8), jitter: { factor: 0.5 } }, (states) => {
      assert.strictEqual(states.length, 4)
      for (const [index, { upcoming }] of states.entries()) {
        const next = states[index + 1]?.delayMs
        if (next === undefined) continue
        const [least = 0] = upcoming?.delaysMs ?? []
        assert.isAtLeast(next, least)
        assert.isAtMost(next, least * (1 + (upcoming?.jitter ?? 0)))
      }
    })
  )

  it.effect.each<[NonNullable<Profile.RetrySettings["routing"]>]>([
    [{ type: "fallback-chain", chains: { default: ["test/other"] } }],
    [{ type: "round-robin", targets: ["test/m", "test/other"] }]
  ])("rule D13: are left out where a router may choose another target", ([routing]) =>
    statesOf({ ...waits(2, 2), routing }, (states) => {
      assert.isNotEmpty(states)
      assert.deepStrictEqual(
        states.map(({ upcoming }) => upcoming),
        states.map(() => undefined)
      )
    })
  )

  it.effect("are left out while the database is away; the state of a turn in memory needs none", () => {
    let isAway = false
    const log = ({ load }: TurnLog["Service"]): Partial<TurnLog["Service"]> => ({
      load: (id) => (isAway ? Effect.fail(new StorageError({ message: "The disk is away." })) : load(id))
    })
    return withService({ scripts: [emits(overloaded)], retry: waits(1), log }, function* ({ conversations }) {
      const c = yield* conversations.create({})
      const turnId = yield* conversations.prompt(c, { prompt: "Hi", turnId: Ids.TurnId.make("a") })
      yield* (yield* watching(conversations.watchTurn(turnId))).until("provider-retry")
      isAway = true
      const { retry, status } = yield* conversations.state(c)
      assert.deepStrictEqual([status, retry?.attempt, retry?.upcoming], ["retrying", 0, undefined])
    })
  })
})
