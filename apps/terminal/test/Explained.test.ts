import type { TurnExplanation } from "@holdfast/wire"
import { expect, it } from "vitest"
import * as Explained from "../src/Explained.ts"

type Attempt = TurnExplanation.ExplainedAttempt

const attempt = (more: Partial<Attempt>): Attempt =>
  ({ attempt: 0, target: "test/m", outcome: "failed", hasContent: false, rules: [], words: "", ...more }) as Attempt

const explanation = (...attempts: ReadonlyArray<Attempt>): TurnExplanation.TurnExplanation =>
  ({ steps: [{ step: 0, attempts, tools: [] }] }) as unknown as TurnExplanation.TurnExplanation

const decision = {
  type: "retry",
  retry: 1,
  decidedAt: 0,
  delayMs: 10_000,
  retryAt: 10_000,
  rules: [],
  words: "",
  spending: { measure: "scheduled", spentMs: 5_000, totalMs: 60_000 }
} as const satisfies TurnExplanation.ExplainedRetry

const changed = (...changes: ReadonlyArray<object>) => ({
  wait: { retryAt: 0, changes } as unknown as TurnExplanation.ExplainedWait
})

it("the budget that is left is the total, with extensions, without what was spent and the wait itself", () => {
  expect(Explained.budgetLeftMs(explanation(attempt({ decision })), 1)).toBe(45_000)
  expect(Explained.budgetLeftMs(explanation(attempt({ decision })), 2)).toBeUndefined()
  const extended = changed({ type: "extended", byMs: 30_000 })
  expect(Explained.budgetLeftMs(explanation(attempt({ decision, ...extended })), 1)).toBe(75_000)
})

it("the budget is not shown where it has no limit, or the wait was moved", () => {
  const { spending: _, ...unlimited } = decision
  expect(Explained.budgetLeftMs(explanation(attempt({ decision: unlimited })), 1)).toBeUndefined()
  expect(
    Explained.budgetLeftMs(explanation(attempt({ decision, ...changed({ type: "moved", until: 9 }) })), 1)
  ).toBeUndefined()
})

it("the whole response is that of the last attempt that has one", () => {
  expect(Explained.lastBody(explanation(attempt({ body: "first" }), attempt({ body: "second" }), attempt({})))).toBe(
    "second"
  )
  expect(Explained.lastBody(explanation(attempt({})))).toBeUndefined()
})
