import type { TurnExplanation } from "@holdfast/wire"
import { expect, it } from "vitest"
import * as WaitCourse from "../../src/conversation/WaitCourse.ts"

const words = { rules: [], words: "" }

const attempt = (
  index: number,
  spending: TurnExplanation.ExplainedSpending | undefined,
  changes: ReadonlyArray<TurnExplanation.WaitChange> = []
): TurnExplanation.ExplainedAttempt => ({
  attempt: index,
  target: "local/a",
  outcome: "failed",
  endedAt: 1_000 * (index + 1),
  hasContent: false,
  failure: { reason: "overloaded", message: "No.", retryable: true, code: "429" },
  decision: {
    type: "retry",
    retry: index,
    decidedAt: 1_000 * (index + 1),
    delayMs: 5_000,
    retryAt: 1_000 * (index + 1) + 5_000,
    ...(spending === undefined ? {} : { spending }),
    ...words
  },
  wait: { retryAt: 1_000 * (index + 1) + 5_000, changes },
  ...words
})

const courseOf = (...attempts: ReadonlyArray<TurnExplanation.ExplainedAttempt>) =>
  WaitCourse.of({ steps: [{ step: 0, attempts, tools: [] }] })

it("the course has the failed attempts of the step and what is left of its budget", () => {
  const spending = { measure: "scheduled", spentMs: 5_000, totalMs: 60_000 } as const
  expect(courseOf(attempt(0, undefined), attempt(1, spending))).toEqual({
    failures: [
      { at: 1_000, code: "429" },
      { at: 2_000, code: "429" }
    ],
    deaths: [],
    budget: { usedMs: 10_000, totalMs: 60_000 }
  })
})

it("an extension counts, and a budget by the clock counts the wait up to its end", () => {
  const extended = { type: "extended", byMs: 3_600_000, ...words } as const
  const scheduled = courseOf(attempt(0, { measure: "scheduled", spentMs: 0, totalMs: 60_000 }, [extended]))
  expect(scheduled.budget).toEqual({ usedMs: 5_000, totalMs: 3_660_000 })
  const wall = courseOf(attempt(0, { measure: "wall-clock", spentMs: 1_000, totalMs: 60_000 }))
  expect(wall.budget).toEqual({ usedMs: 6_000, totalMs: 60_000 })
})

it("a turn without a wait has no budget to show", () => {
  expect(WaitCourse.of({ steps: [] })).toEqual({ failures: [], deaths: [], budget: undefined })
  expect(courseOf(attempt(0, undefined)).budget).toBe(undefined)
})
