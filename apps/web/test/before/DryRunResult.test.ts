import { expect, it } from "vitest"
import * as DryRunResult from "../../src/before/DryRunResult.tsx"

const report = {
  startedAt: 1_000,
  endedAt: 61_000,
  turns: 3,
  answered: 2,
  failed: 1,
  waiting: 0,
  firstAnswerAt: 31_000,
  lastAnswerAt: 61_000,
  waitedMs: { median: 20_000, longest: 50_000, total: 90_000 },
  calls: 7,
  refused: 5,
  shared: 0,
  failures: [{ because: "max-retries", reason: "overloaded" as const, turns: 1 }],
  endpoints: []
}

it("figures are side by side, without those that no run has", () => {
  const columns = DryRunResult.columnsOf({
    report,
    against: { ...report, answered: 0, failed: 3, firstAnswerAt: undefined, shared: 4 } as unknown as typeof report,
    outages: [],
    assumptions: []
  })
  const rows = new Map(DryRunResult.rowsOf(columns).map(({ name, values }) => [name, values]))
  expect(rows.get("answered")).toEqual(["2 of 3", "0 of 3"])
  expect(rows.get("first answer after")).toEqual(["30 s", undefined])
  expect(rows.get("calls that the gate saved")).toEqual([undefined, "4"])
  expect(rows.has("cost")).toBe(false)
  expect(DryRunResult.sentenceOf(columns)).toBe(
    "as configured: 2 of 3 answered, 1 failed; as changed: 0 of 3 answered, 3 failed."
  )
  expect(columns.flatMap(DryRunResult.failuresOf)[0]).toBe(
    "as configured: 1 failed because no retries were left (overloaded)"
  )
})
