import { describe, expect, it } from "@effect/vitest"
import type { Directive } from "@holdfast/kernel"
import type { Failure, Target } from "@holdfast/wire"
import * as RetryLog from "../../../../src/ops/telemetry/logs/RetryLog.ts"

const target = (provider: string): Target.Target => ({ provider, model: provider })

const failure = (reason: Failure.Reason, over: Partial<Failure.Failure> = {}): Failure.Failure => ({
  reason,
  message: reason,
  retryable: true,
  ...over
})

const here = target("a")
const overloaded = failure("overloaded", { status: 529, code: "overloaded_error" })
const retry = (over: Partial<Extract<Directive.Directive, { readonly _tag: "Retry" }>> = {}): Directive.Directive => ({
  _tag: "Retry",
  attempt: 1,
  delayMs: 0,
  retryAt: 0,
  ...over
})

describe("the words of a decision", () => {
  it("rule A1: the same target again is a retry, with its wait and the sources of the error", () => {
    expect(RetryLog.wordsOf(retry({ delayMs: 5_000 }), overloaded, here)).toEqual({
      action: "retry",
      logMessage: "a/a failed (overloaded, 529): retry 2 after 5000 ms",
      sources: ["a/a", "overloaded", "HTTP 529", "overloaded_error"]
    })
  })

  it("rule A1: another target is skip-provider", () => {
    expect(RetryLog.wordsOf(retry({ route: { target: target("b") } }), overloaded, here)).toMatchObject({
      action: "skip-provider",
      logMessage: "a/a failed (overloaded, 529): retry 2 at once on b/b"
    })
  })

  it("rule A1: another credential of the same target is a retry", () => {
    const quota = failure("quota-exhausted")
    expect(RetryLog.wordsOf(retry({ route: { target: here, credential: "SECOND" } }), quota, here)).toMatchObject({
      action: "retry",
      logMessage: "a/a failed (quota-exhausted): retry 2 at once with another credential",
      sources: ["a/a", "quota-exhausted"]
    })
  })

  it("rule A1: giving up is abort, with the reason", () => {
    expect(RetryLog.wordsOf({ _tag: "GiveUp", because: "not-retryable" }, failure("auth"), here)).toMatchObject({
      action: "abort",
      logMessage: "a/a failed (auth): giving up, not-retryable"
    })
  })
})
