import { describe, expect, it } from "@effect/vitest"
import type { Records } from "@holdfast/kernel"
import { ModelContext } from "@holdfast/kernel/host"
import { GivenRecords } from "@holdfast/kernel/testing"
import * as fc from "fast-check"
import * as Interruption from "../src/Interruption.ts"

const { completed, failed, retry } = GivenRecords
const record = (name: string, value: unknown = true): Records.Stored => ({ name, value: JSON.stringify(value) })

const LOST = record("step/0/attempt/0", { _tag: "Lost", endedAt: 1 })
const INTERRUPTED = record("step/0/tool/0", { output: ModelContext.INTERRUPTED, isError: true, endedAt: 1 })
/** Records that mark a beginning, or that a process died. */
const MARKS: ReadonlyArray<Records.Stored> = [
  record("step/0/attempt/0/content"),
  record("step/0/tool/0/begun"),
  record("step/0/route", { route: { target: { provider: "p", model: "m" } } }),
  record("step/0/final", { cause: "max-turns" }),
  LOST,
  INTERRUPTED
]
const PROGRESS: ReadonlyArray<Records.Stored> = [
  completed(0, 0),
  failed(0, 0),
  retry(0, 1_000, 1_000),
  record("step/0/tool/0", { output: "found", isError: false, endedAt: 1 }),
  record("step/0/tool/0", { output: "The tool failed: no such file", isError: true, endedAt: 1 }),
  record("step/0/sleep/0", { type: "elapsed" })
]

it("rule X14: a turn without an interruption has neither deaths nor defects", () => {
  expect(Interruption.none("life 1")).toEqual({
    life: "life 1",
    seen: 0,
    deaths: 0,
    isAlone: false,
    isOrderly: false,
    defects: 0
  })
})

/**
 * One time for which a process has a turn: whether it runs the turn, the records that it writes, and how that ends. Of the last two ends the
 * process has the turn again.
 */
interface Life {
  readonly runs: boolean
  readonly records: ReadonlyArray<Records.Stored>
  readonly end: "dies" | "stops" | "dies before it takes the turn up" | "gives it up" | "loses it"
}

const life: fc.Arbitrary<Life> = fc.record({
  runs: fc.boolean(),
  records: fc.array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...MARKS) }, fc.constantFrom(...PROGRESS)), {
    maxLength: 3
  }),
  end: fc.oneof(
    { weight: 5, arbitrary: fc.constant("dies" as const) },
    fc.constantFrom(
      "stops" as const,
      "dies before it takes the turn up" as const,
      "gives it up" as const,
      "loses it" as const
    )
  )
})

/** The state that a service writes over some lives of its process, and its decision at the start of each. */
const livedThrough = (lives: ReadonlyArray<Life>) => {
  const records: Array<Records.Stored> = []
  const plans: Array<Interruption.RunPlan["_tag"]> = []
  const deaths: Array<number> = []
  let known: Interruption.Interruption | undefined
  let process = 0
  let isAgain = false
  for (const { end, records: made, runs } of lives) {
    if (!isAgain) process++
    if (end === "dies before it takes the turn up") {
      isAgain = false
      continue
    }
    isAgain = end === "gives it up" || end === "loses it"
    const isOrderly = end === "stops" || end === "gives it up"
    known = Interruption.takenUp(known, {
      life: `${process}`,
      records: records.length,
      since: records.slice(known?.seen ?? 0)
    })
    deaths.push(known.deaths)
    const plan = Interruption.runPlanOf(known)._tag
    plans.push(plan)
    if (plan === "Seal") break
    // A turn that has to run alone waits for others, and its process may die meanwhile.
    if (plan === "Alone" && !runs) {
      if (isOrderly) known = { ...known, deaths: 0, isOrderly: true }
      continue
    }
    if (plan === "Alone") known = { ...known, isAlone: true }
    records.push(...made)
    if (isOrderly) known = { ...known, deaths: 0, isAlone: false, isOrderly: true }
  }
  return { deaths, plans }
}

/** The rule, computed from the lives alone: deaths in a row, without progress, of processes that ran the turn. */
const expected = (lives: ReadonlyArray<Life>): ReadonlyArray<number> => {
  const deaths: Array<number> = []
  // A process that died had begun it; otherwise no process would take it up.
  let count = 1
  // A process that has lost the turn while it ran, and dies then, leaves what it would leave if it had kept it until its death.
  let isLost = false
  for (const { end, records, runs } of lives) {
    if (end === "dies before it takes the turn up") {
      if (isLost) count++
      isLost = false
      continue
    }
    deaths.push(count)
    if (count > Interruption.SUSPECT) break
    const isRun = count < Interruption.SUSPECT || runs
    isLost = isRun && end === "loses it"
    if (end === "stops" || end === "gives it up") count = 0
    else if (isRun) count = (records.some((made) => PROGRESS.includes(made)) ? 0 : count) + (end === "loses it" ? 0 : 1)
  }
  return deaths
}

describe("Interruption", () => {
  it("rule X14: deaths are counted in a row, and progress or an orderly stop resets the count", () => {
    fc.assert(
      fc.property(fc.array(life, { maxLength: 12 }), (lives) => {
        expect(livedThrough(lives).deaths).toEqual(expected(lives))
      })
    )
  })

  it("rule X14: a turn is sealed after one death while it ran alone, and never before", () => {
    fc.assert(
      fc.property(fc.array(life, { maxLength: 12 }), (lives) => {
        const { plans } = livedThrough(lives)
        const sealed = plans.indexOf("Seal")
        if (sealed >= 0) expect(plans[sealed - 1]).toBe("Alone")
      })
    )
  })

  it("rule X14: a turn that kills every process that runs it is run four times, the last time alone", () => {
    const deadly = (records: ReadonlyArray<Records.Stored>): Life => ({ runs: true, records, end: "dies" })
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.constantFrom(...MARKS), { maxLength: 3 }), { minLength: 6, maxLength: 9 }),
        (made) => {
          // The first of its four lives is the one in which it was accepted.
          expect(livedThrough(made.map(deadly)).plans).toEqual(["Together", "Together", "Alone", "Seal"])
        }
      )
    )
  })

  it("rule X14: a turn that waits to be run alone is not counted as dead with the process", () => {
    const waits: Life = { runs: false, records: [], end: "dies" }
    const { plans } = livedThrough([waits, waits, waits, waits, waits, { ...waits, runs: true }, waits])
    expect(plans).toEqual(["Together", "Together", "Alone", "Alone", "Alone", "Alone", "Seal"])
  })

  it("rule X14: the same process that takes a turn up again has not died", () => {
    const found = { life: "one", records: 3, since: [] }
    const first = Interruption.takenUp(undefined, found)
    expect(first.deaths).toBe(1)
    expect(Interruption.takenUp(first, found)).toEqual(first)
  })

  it("rule X14: a process that gave a turn up in good order, and has it again, may die with it like any other", () => {
    const orderly = { ...Interruption.none("one"), isOrderly: true }
    const again = Interruption.takenUp(orderly, { life: "one", records: 3, since: [] })
    expect(again).toMatchObject({ deaths: 0, isOrderly: false })
    expect(Interruption.takenUp(again, { life: "two", records: 3, since: [] }).deaths).toBe(1)
  })

  it("rule C10: defects are counted regardless of later records, and the third seals the turn", () => {
    const known = { ...Interruption.none("one"), defects: 2 }
    const next = Interruption.takenUp(known, { life: "two", records: 1, since: [completed(0, 0)] })
    expect(Interruption.runPlanOf(next)._tag).toBe("Together")
    expect(Interruption.runPlanOf({ ...next, defects: next.defects + 1 })).toMatchObject({
      _tag: "Seal",
      failure: { reason: "unknown", retryable: false, defect: true }
    })
  })
})
