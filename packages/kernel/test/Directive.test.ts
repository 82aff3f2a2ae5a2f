import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { defined, type Failure } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import * as fc from "fast-check"
import * as Directive from "../src/turn/Directive.ts"

const { badGateway, overloaded, unauthorized } = ScriptedProvider

const { service: patient } = new TestStrategy.TestStrategy({ delays: Array.from({ length: 50 }, () => 1_000) })

const bug: Failure.Failure = { reason: "unknown", message: "TypeError: x", retryable: true, defect: true }

const situation = (given: Partial<Directive.Situation> = {}): Directive.Situation => ({
  failure: overloaded,
  contentSeen: false,
  retries: 0,
  defects: 0,
  spent: { sleptMs: 0, elapsedMs: 0, extendedMs: 0, spread: 0 },
  now: 10_000,
  ...given
})

const becauseOf = (given: Partial<Directive.Situation>, strategy: typeof patient | undefined = patient) => {
  const directive = Directive.decide(situation(given), strategy)
  return directive._tag === "GiveUp" ? directive.because : undefined
}

describe("Directive", () => {
  it("rule D3: a retryable failure is retried after the strategy's delay, up to an absolute moment", () => {
    assert.deepStrictEqual(Directive.decide(situation({ retries: 3 }), patient), {
      _tag: "Retry",
      attempt: 3,
      delayMs: 1_000,
      retryAt: 11_000
    })
    assert.strictEqual(becauseOf({ failure: unauthorized }), "not-retryable")
  })

  it("rule D4: content outweighs everything else", () => {
    for (const failure of [overloaded, badGateway, bug, { ...overloaded, reason: "aborted" as const }]) {
      assert.strictEqual(becauseOf({ failure, contentSeen: true }), "after-content")
    }
  })

  it("rule D7: when the strategy has no delay left, nothing is retried", () => {
    assert.strictEqual(becauseOf({ retries: 50 }), "exhausted")
  })

  it("rule D9: without a strategy nothing is retried", () => {
    const directive = Directive.decide(situation(), undefined)
    assert.deepStrictEqual(directive, { _tag: "GiveUp", because: "no-strategy" })
  })

  it("rule X5, X9: a wait that continues has the evidence of the decision that continues it, or its own", () => {
    const interrupted = { _tag: "Retry", attempt: 0, delayMs: 60_000, retryAt: 60_000, basis: "its own" } as const
    const basisOf = (delay: Duration.Duration | undefined) => {
      const directive = Directive.decide(situation({ interrupted }), {
        ...patient,
        decide: () => ({ ...defined({ delay }), basis: "new" })
      })
      return directive._tag === "Retry" && directive.basis
    }
    assert.deepStrictEqual([basisOf(Duration.seconds(5)), basisOf(undefined)], ["new", "its own"])
  })

  it("rule P2: an overflow is not retried, whatever its `retryable` is", () => {
    assert.strictEqual(becauseOf({ failure: { ...overloaded, reason: "context-overflow" } }), "context-overflow")
  })

  it("rule X7: content is void after a failure of the transport, and after no bug and no overflow, whatever its `retryable` is", () => {
    const overflow = { ...overloaded, reason: "context-overflow" as const }
    const discarded = (failure: Failure.Failure) => becauseOf({ failure, contentSeen: true, midStream: "discard" })
    assert.isUndefined(discarded(overloaded))
    assert.isUndefined(discarded({ ...overloaded, reason: "aborted", retryable: false }))
    for (const failure of [overflow, bug, unauthorized]) {
      assert.isFalse(Directive.isOfTransport(failure))
      assert.strictEqual(discarded(failure), "after-content")
    }
  })

  it("rule M3: an abort that the user did not request is retried, whatever its `retryable` is", () => {
    assert.isUndefined(becauseOf({ failure: { reason: "aborted", message: "aborted", retryable: false } }))
  })

  it("rule C10: two bugs of a step are retried and the third is not, in any mix with other failures", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(bug, overloaded, badGateway), { maxLength: 40, size: "max" }),
        (failures) => {
          let defects = 0
          let retries = 0
          for (const failure of failures) {
            if (failure.defect === true) defects++
            const because = becauseOf({ failure, retries, defects })
            assert.strictEqual(because, failure.defect === true && defects > 2 ? "defect" : undefined)
            if (because !== undefined) return
            retries++
          }
        }
      )
    )
  })
})
