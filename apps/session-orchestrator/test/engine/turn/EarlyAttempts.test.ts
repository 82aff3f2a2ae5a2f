/** Tests that a turn is none the worse for the early attempts that its gate gives it, in the whole service. */
import { assert, describe, it } from "@effect/vitest"
import { Records, RetryStrategy } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Explanation from "../../../src/insight/inspection/Explanation.ts"
import { CrowdedEndpoint, onDisk, prompts, type Service, start, turnIdOf } from "../conversation/CrowdedEndpoint.ts"
import * as Logged from "../../storage/Logged.ts"

const SECOND = 1_000

/** Answers every turn but the first, which it refuses always. */
class PoisonedEndpoint extends CrowdedEndpoint {
  readonly good = new CrowdedEndpoint(() => true)
  readonly bad = new CrowdedEndpoint(() => false)
  override readonly provider: CrowdedEndpoint["provider"] = {
    stream: (request) => (request.turnId === poisoned ? this.bad : this.good).provider.stream(request)
  }

  constructor() {
    super(() => true)
  }
}

const poisoned = turnIdOf(0)

const recordsOf = (service: Service) => service.log.load(poisoned)

/** The waits that its records have decided: the early attempts that failed, and the retries. */
const decisionsOf = (service: Service) =>
  Effect.map(recordsOf(service), (records) => {
    const retries = records.flatMap((record) => {
      const decision = Records.valueOf("Decision", record)
      return decision?._tag === "Retry" ? [decision] : []
    })
    return {
      early: retries.filter(({ resumes }) => resumes === true),
      own: retries.filter(({ resumes }) => resumes !== true)
    }
  })

describe("one turn that is always refused while others are answered", () => {
  it.effect("rule D2, X5: has used no more of its budget after a minute than the minute and its present wait", () =>
    onDisk(
      Effect.gen(function* () {
        const endpoint = new PoisonedEndpoint()
        const service = yield* start({ endpoint })
        yield* prompts(service, 30, TestClock.adjust)
        yield* TestClock.adjust(5 * SECOND)
        const { early, own } = yield* decisionsOf(service)
        assert.isAbove(early.length, 0)
        assert.strictEqual(endpoint.bad.calls.length, early.length + own.length)
        const present = own.at(-1)
        const { sleptMs } = History.spendingAfterWait(History.of(yield* recordsOf(service)))
        assert.isAtMost(sleptMs, 65 * SECOND + (present?.delayMs ?? 0))
        assert.deepStrictEqual(
          own.map(({ delayMs }) => delayMs),
          [5, 10, 30, 60].map((seconds) => seconds * SECOND).slice(0, own.length)
        )
      })
    )
  )

  it.effect("rule X1, X5: waits for the same moment after a restart, with the same budget", () =>
    onDisk(
      Effect.gen(function* () {
        const endpoint = new PoisonedEndpoint()
        const service = yield* start({ endpoint })
        yield* prompts(service, 20, TestClock.adjust, 40 * SECOND)
        const before = History.of(yield* recordsOf(service))
        const { early } = yield* decisionsOf(service)
        assert.isAbove(early.length, 0)
        yield* service.stop
        const called = endpoint.bad.calls.length
        const again = yield* start({ endpoint })
        yield* TestClock.adjust(1)
        const after = History.of(yield* recordsOf(again))
        assert.deepStrictEqual(History.spendingAfterWait(after), History.spendingAfterWait(before))
        assert.deepStrictEqual(after.wait, before.wait)
        assert.strictEqual(endpoint.bad.calls.length, called)
        yield* TestClock.adjust("2 minutes")
        assert.isAbove(endpoint.bad.calls.length, called)
      })
    )
  )

  it.effect("rule X1, X5: is woken early as rarely after restarts as without them", () =>
    Effect.gen(function* () {
      const earlyAfter = (restarts: number) =>
        onDisk(
          Effect.gen(function* () {
            const endpoint = new PoisonedEndpoint()
            let service = yield* start({ endpoint })
            yield* prompts(service, 30, TestClock.adjust)
            for (let n = 0; n < 10; n++) {
              if (n < restarts) {
                yield* service.stop
                service = yield* start({ endpoint })
              }
              for (let i = 0; i < 10; i++) {
                const id = yield* service.conversations.create({})
                yield* service.conversations.prompt(id, { prompt: "Hi" })
                yield* TestClock.adjust(6 * SECOND)
              }
            }
            return (yield* decisionsOf(service)).early.length
          })
        )
      const [without, restarted] = [yield* earlyAfter(0), yield* earlyAfter(10)]
      assert.isAtLeast(without, 3)
      assert.isAtMost(Math.abs(restarted - without), 1)
    })
  )

  it.effect("rule X1: a wait after a restart under a clock that went back is not longer than its delay", () =>
    onDisk(
      Effect.gen(function* () {
        yield* TestClock.setTime(10 * 3_600_000)
        const endpoint = new PoisonedEndpoint()
        const service = yield* start({ endpoint, gates: "none" })
        yield* prompts(service, 1, TestClock.adjust, 10 * SECOND)
        yield* service.stop
        const called = endpoint.bad.calls.length
        yield* TestClock.setTime(3_600_000)
        yield* start({ endpoint, gates: "none" })
        yield* TestClock.adjust("30 seconds")
        assert.isAbove(endpoint.bad.calls.length, called)
      })
    )
  )

  it.effect("rule X9: an early attempt that failed is explained as one that cost nothing", () =>
    onDisk(
      Effect.gen(function* () {
        const endpoint = new PoisonedEndpoint()
        const service = yield* start({ endpoint })
        yield* prompts(service, 20, TestClock.adjust, 40 * SECOND)
        const records = yield* recordsOf(service)
        const wakes = records.flatMap((record) => Records.valueOf("Wake", record) ?? [])
        assert.isTrue(wakes.some(RetryStrategy.isEarly))
        const text = JSON.stringify(yield* explained(service))
        assert.include(text, "The gate had made this attempt early; it costs nothing")
      })
    )
  )
})

const explained = Effect.fnUntraced(function* ({ store }: Service) {
  const turn = yield* Effect.flatten(Effect.map(store.turn(poisoned), Effect.fromOption))
  const conversation = yield* Effect.flatten(Effect.map(store.conversation(turn.conversationId), Effect.fromOption))
  const events = (yield* store.turnEvents(poisoned)).map(({ event }) => event)
  const records = yield* Logged.load(poisoned)
  return Explanation.of({ turn, conversation, events, records }, (text) => text)
})
