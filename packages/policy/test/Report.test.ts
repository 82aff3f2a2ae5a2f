import { describe, expect, it } from "@effect/vitest"
import type { Directive } from "@holdfast/kernel"
import { Report } from "../src/index.ts"
import { failure, target } from "./routing/RoutedStep.ts"

const here = { target: target("a/a") }
const overloaded = failure("overloaded", { status: 529, code: "overloaded_error" })
const retry = (over: Partial<Extract<Directive.Directive, { readonly _tag: "Retry" }>> = {}): Directive.Directive => ({
  _tag: "Retry",
  attempt: 1,
  delayMs: 0,
  retryAt: 0,
  ...over
})

describe("Report", () => {
  it("rule A1: the same target again is a retry, with its wait and the sources of the error", () => {
    expect(Report.describe(retry({ delayMs: 5_000 }), overloaded, here)).toEqual({
      action: "retry",
      backoffMs: 5_000,
      logMessage: "a/a failed (overloaded, 529): retry 2 after 5000 ms",
      sources: ["a/a", "overloaded", "HTTP 529", "overloaded_error"]
    })
  })

  it("rule A1: another target is skip-provider", () => {
    expect(Report.describe(retry({ route: { target: target("b/b") } }), overloaded, here)).toMatchObject({
      action: "skip-provider",
      backoffMs: 0,
      logMessage: "a/a failed (overloaded, 529): retry 2 at once on b/b"
    })
  })

  it("rule A1: another credential of the same target is a retry", () => {
    const quota = failure("quota-exhausted")
    expect(Report.describe(retry({ route: { ...here, credential: "SECOND" } }), quota, here)).toMatchObject({
      action: "retry",
      logMessage: "a/a failed (quota-exhausted): retry 2 at once with another credential",
      sources: ["a/a", "quota-exhausted"]
    })
  })

  it("rule A1: giving up is abort, with the reason", () => {
    expect(Report.describe({ _tag: "GiveUp", because: "not-retryable" }, failure("auth"), here)).toMatchObject({
      action: "abort",
      backoffMs: 0,
      logMessage: "a/a failed (auth): giving up, not-retryable"
    })
  })
})
