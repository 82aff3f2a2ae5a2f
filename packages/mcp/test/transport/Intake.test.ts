import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Intake from "../../src/transport/Intake.ts"

/** Costs, each with the milliseconds since the previous one; a clock may go back. */
const spendings = fc.array(fc.record({ cost: fc.nat(20_000), passed: fc.integer({ min: -1_000, max: 5_000 }) }))

const rates = fc.record({ burst: fc.integer({ min: 1, max: 50_000 }), perSecond: fc.integer({ min: 1, max: 5_000 }) })

describe("a rate", () => {
  it("never allows more than its burst and the refill since then", () =>
    fc.assert(
      fc.property(rates, spendings, (rate, spendings) => {
        let account = Intake.full(rate, 0)
        let now = 0
        let forward = 0
        let spent = 0
        for (const { cost, passed } of spendings) {
          now += passed
          forward += Math.max(0, passed)
          account = Intake.spend(rate, account, cost, now)
          spent += cost
          assert.isAtMost(account.left, rate.burst)
          if (account.left >= 0) assert.isAtMost(spent, rate.burst + (forward * rate.perSecond) / 1_000 + 1e-6)
        }
      })
    ))

  it("has no debt left after the time of its debt, and has some a moment before", () =>
    fc.assert(
      fc.property(rates, fc.nat(1_000_000), (rate, cost) => {
        const account = Intake.spend(rate, Intake.full(rate, 0), cost, 0)
        const ms = Intake.debtMs(rate, account)
        assert.isAtLeast(Intake.spend(rate, account, 0, ms).left, -1e-6)
        if (ms > 0) assert.isBelow(Intake.spend(rate, account, 0, ms - 1).left, 0)
      })
    ))
})

describe("a tool server's data", () => {
  it("costs nothing as the answer to a request, once", () => {
    const intake = new Intake.Intake(() => 0)
    intake.requested(1)
    assert.strictEqual(intake.check({ id: 1 }, 8_000_000), "pass")
    assert.strictEqual(intake.nextTurn(), 0)
    for (let n = 0; n < Intake.JUNK.burst; n++) assert.strictEqual(intake.check({ id: 1 }, 10), "drop")
    assert.strictEqual(intake.check({ id: 1 }, 10), "end")
  })

  it("in lines that are no message ends the connection beyond the budget, which refills", () => {
    let now = 0
    const intake = new Intake.Intake(() => now)
    for (let n = 0; n < Intake.JUNK.burst; n++) assert.strictEqual(intake.junk(10), "drop")
    now += 1_000
    for (let n = 0; n < Intake.JUNK.perSecond; n++) assert.strictEqual(intake.junk(10), "drop")
    assert.strictEqual(intake.junk(10), "end")
    // A long line costs as much as many short ones.
    assert.strictEqual(new Intake.Intake(() => 0).junk(Intake.JUNK.burst * 1_024), "end")
  })

  it("in notifications is dropped, except changed tools, and is not read faster than the rate", () => {
    let now = 0
    const intake = new Intake.Intake(() => now)
    assert.strictEqual(intake.check({ method: "notifications/message" }, 10), "drop")
    assert.strictEqual(intake.check({ method: "notifications/tools/list_changed" }, 10), "pass")
    assert.strictEqual(intake.check({ id: 1, method: "ping" }, 10), "pass")
    for (let n = 3; n < Intake.UNREQUESTED.burst; n++) intake.check({ method: "notifications/message" }, 10)
    assert.strictEqual(intake.nextTurn(), 0)
    for (let n = 0; n < Intake.UNREQUESTED.perSecond; n++) intake.check({ method: "notifications/message" }, 10)
    assert.strictEqual(intake.nextTurn(), 1_000)
    now += 1_000
    assert.strictEqual(intake.nextTurn(), 0)
  })
})
