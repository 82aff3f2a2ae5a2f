import { describe, expect, it } from "@effect/vitest"
import type { Failure } from "@holdfast/wire"
import { RetryPolicy, RetryStrategies } from "../src/index.ts"
import { policyOf } from "./routing/RoutedStep.ts"

const failure = (reason: Failure.Reason): Failure.Failure => ({ reason, message: "", retryable: true })

describe("midStream", () => {
  it("rule X7: no profile sets it; a setting replaces it, and a reason may have its own", () => {
    for (const profile of ["overnight", "interactive", "cycling"])
      expect(policyOf({ profile }).midStream).toBeUndefined()
    const policy = policyOf({ midStream: "discard", reasons: { timeout: { midStream: "unseen" }, network: {} } })
    expect(RetryPolicy.midStreamOf(policy, failure("overloaded"))).toBe("discard")
    expect(RetryPolicy.midStreamOf(policy, failure("timeout"))).toBe("unseen")
    expect(RetryPolicy.midStreamOf(policy, failure("network"))).toBe("discard")
    expect(RetryPolicy.midStreamOf(policyOf({}), failure("network"))).toBe("fail")
    expect(RetryStrategies.deciding(policy).midStream?.(failure("timeout"))).toBe("unseen")
  })

  it("an unknown value is rejected with the known ones", () => {
    expect(() => policyOf({ midStream: "never" })).toThrow('Expected "fail", "discard" or "unseen"')
  })
})
