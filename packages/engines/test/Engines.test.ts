/** What follows an error of a call, and how each engine gets it. The real engines are in `runtimes/src/bridges/engines.test.mts`. */
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { dbos, inngest, temporal, trigger, directives, workflow } from "../src/index.ts"

const HOUR = 3_600_000

const refused = (status: number, message: string, headers: Readonly<Record<string, string>> = {}) =>
  Object.assign(new Error(message), { status, headers })

const overloaded = refused(529, "Overloaded")
const unauthorized = refused(401, "invalid x-api-key")
const cancelled = Object.assign(new Error("This operation was aborted"), { name: "AbortError" })
const limited = refused(429, "Rate limit reached", { "retry-after": "7200" })

describe("a directive", () => {
  const decide = directives()

  it("rule P3: an outage is called again by the schedule, with jitter on top", () => {
    for (const [retries, ms] of [5_000, 10_000, 30_000, 60_000].entries()) {
      const directive = decide(overloaded, { retries })
      expect(directive).toMatchObject({ fatal: false, failure: { reason: "overloaded", status: 529 } })
      expect(directive.fatal ? 0 : directive.retryAfterMs).toBeGreaterThanOrEqual(ms)
      expect(directive.fatal ? 0 : directive.retryAfterMs).toBeLessThanOrEqual(1.5 * ms)
    }
  })

  it("rule P5: the provider's own delay is a lower bound", () => {
    const directive = decide(limited, { retries: 0 })
    expect(directive.fatal ? 0 : directive.retryAfterMs).toBeGreaterThanOrEqual(2 * HOUR)
  })

  it.each([
    ["a wrong key", unauthorized, "auth"],
    [
      "a context that is too long",
      refused(400, "prompt is too long: 210000 tokens > 200000 maximum"),
      "context-overflow"
    ],
    ["a request that is wrong", refused(400, "messages: at least one message is required"), "bad-request"]
  ])("rule D3: %s is final", (_, error, reason) => {
    expect(decide(error, { retries: 0 })).toMatchObject({ fatal: true, because: "not-retryable", failure: { reason } })
  })

  it("rule C10: a bug of the program is tried again twice", () => {
    const bug = new TypeError("x is not a function")
    expect([0, 1, 2].map((retries) => decide(bug, { retries }).fatal)).toEqual([false, false, true])
  })

  it("rule P3: the budget ends it, counted from the first attempt or by the waits of the schedule", () => {
    const ended = { fatal: true, because: "budget" }
    expect(decide(overloaded, { retries: 1, since: Date.now() - 9 * HOUR })).toMatchObject(ended)
    expect(decide(overloaded, { retries: 30 })).toMatchObject(ended)
    expect(decide(overloaded, { retries: 1, since: Date.now() - HOUR }).fatal).toBe(false)
  })

  it("rule P6: a retry is made at most as often as the profile allows, whatever failed", () => {
    const short = directives({ retry: { profile: "interactive", maxRetries: 4 } })
    fc.assert(
      fc.property(fc.nat(20), fc.constantFrom(overloaded, limited, new Error("who knows")), (retries, error) => {
        if (retries >= 4) expect(short(error, { retries })).toMatchObject({ fatal: true })
      })
    )
  })

  it("names what is wrong with its options", () => {
    expect(() => directives({ retry: { maxRetries: -1 } })).toThrow(/^retry: .*\n.*maxRetries/)
  })
})

describe("what an engine gets", () => {
  class Told extends Error {
    readonly given: ReadonlyArray<unknown>
    constructor(...given: Array<unknown>) {
      super(String(given[0]))
      this.given = given
    }
  }
  class Final extends Told {}
  const Failures = { create: (options: object) => new Told("", options) }
  const ms = expect.closeTo(5_500, -4)

  it("Temporal: the next delay, or that there is none", () => {
    const failure = temporal(Failures)
    expect(failure(overloaded, { attempt: 1 })).toMatchObject({
      given: [
        "",
        {
          type: "overloaded",
          message: "overloaded (529): Overloaded",
          nonRetryable: false,
          nextRetryDelay: ms,
          cause: overloaded
        }
      ]
    })
    const final = {
      given: ["", { type: "auth", message: "auth (401): invalid x-api-key", nonRetryable: true, cause: unauthorized }]
    }
    expect(failure(unauthorized, { attempt: 1 })).toMatchObject(final)
    const late = { attempt: 2, scheduledTimestampMs: Date.now() - 9 * HOUR }
    expect(failure(overloaded, late)).toMatchObject({ given: ["", { nonRetryable: true }] })
    expect(failure(cancelled, { attempt: 1 })).toBe(cancelled)
  })

  it("Inngest and Workflow: an error of one of two classes", () => {
    const ofInngest = inngest({ NonRetriableError: Final, RetryAfterError: Told })
    expect(ofInngest(overloaded, { attempt: 0 })).toMatchObject({
      given: [expect.any(String), ms, { cause: overloaded }]
    })
    expect(ofInngest(unauthorized, { attempt: 0 })).toBeInstanceOf(Final)
    expect(ofInngest(cancelled, { attempt: 0 })).toBe(cancelled)
    const ofWorkflow = workflow({ FatalError: Final, RetryableError: Told })
    expect(ofWorkflow(overloaded, { attempt: 1 })).toMatchObject({ given: [expect.any(String), { retryAfter: ms }] })
    expect(ofWorkflow(unauthorized, { attempt: 1 })).toBeInstanceOf(Final)
    expect(ofWorkflow(cancelled, { attempt: 1 })).toBe(cancelled)
  })

  it("Trigger.dev: when the next attempt is, or that there is none", () => {
    const caught = (error: unknown, number = 1) => trigger()({ error, ctx: { attempt: { number }, run: {} } })
    expect(caught(overloaded)).toEqual({ retryAt: expect.any(Date) })
    expect(caught(unauthorized)).toEqual({ skipRetrying: true })
    expect(caught(cancelled)).toBe(undefined)
  })

  it("DBOS: a step an attempt, a sleep a wait; the last error is thrown, and a cancellation as it is", async () => {
    const slept: Array<number> = []
    const steps: Array<string | undefined> = []
    const call = dbos({
      runStep: (work, config) => (steps.push(config?.name), work()),
      sleep: async (ms) => void slept.push(ms),
      now: async () => Date.now()
    })
    const errors: Array<Error> = [overloaded, limited]
    expect(await call("ask", async () => (errors.length === 0 ? "It rains." : Promise.reject(errors.shift())))).toBe(
      "It rains."
    )
    expect(steps).toEqual(["ask", "ask", "ask"])
    expect(slept).toEqual([ms, expect.any(Number)])
    expect(slept[1]).toBeGreaterThanOrEqual(2 * HOUR)
    await expect(call("ask", () => Promise.reject(unauthorized))).rejects.toThrow("auth (401): invalid x-api-key")
    await expect(call("ask", () => Promise.reject(cancelled))).rejects.toBe(cancelled)
  })
})
