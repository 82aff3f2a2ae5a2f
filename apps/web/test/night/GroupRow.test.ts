import { Ids, type TurnState } from "@holdfast/wire"
import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as GroupRow from "../../src/night/GroupRow.tsx"

const conversationId = Ids.ConversationId.make("c")

const summary = (n: number, model = "a/m", goesOn = false): TurnState.TurnSummary => ({
  conversationId,
  turnId: Ids.TurnId.make(`t${n}`),
  model,
  acceptedAt: 1_000 - n,
  ...(goesOn ? { status: "waiting" } : { status: "completed", endedAt: 2_000 }),
  attempts: 1
})

const turn = fc.record({
  status: fc.constantFrom("failed" as const, "completed" as const),
  model: fc.constantFrom("a/m", "a/m", "b/m"),
  code: fc.constantFrom("401", "401", "529"),
  goesOn: fc.constantFrom(false, false, false, true)
})

/** Turns with few ways to end, so that neighbours are often equal. */
const turns = fc.array(turn, { maxLength: 30, size: "max" }).map((all) =>
  all.map(({ code, goesOn, model, status }, n): TurnState.TurnSummary => ({
    ...summary(n, model, goesOn),
    ...(goesOn ? {} : { status }),
    ...(status === "failed" ? { error: { reason: "auth", message: "No.", code } } : {})
  }))
)

const waysOf = (turns: ReadonlyArray<TurnState.TurnSummary>) =>
  new Set(turns.map(({ error, model, status }) => `${status} ${model} ${error?.code}`))

it("equal turns beside each other are one row; opened, all turns are there, in their order", () => {
  fc.assert(
    fc.property(turns, (turns) => {
      const closed = GroupRow.rowsOf(turns, new Set())
      expect(closed.flatMap((row) => row.group?.turns ?? row.turn ?? [])).toEqual(turns)
      const groups = closed.flatMap(({ group }) => group ?? [])
      for (const { turns } of groups) {
        expect(turns.length).toBeGreaterThanOrEqual(GroupRow.FEWEST)
        expect(turns.every(({ endedAt }) => endedAt !== undefined)).toBe(true)
        expect(waysOf(turns).size).toBe(1)
      }
      // What stays apart is different, or goes on, or is too few.
      for (const [n] of closed.entries()) {
        const near = closed.slice(n, n + GroupRow.FEWEST).flatMap(({ turn }) => turn ?? [])
        const areEnded = near.every(({ endedAt }) => endedAt !== undefined)
        if (near.length === GroupRow.FEWEST && areEnded) expect(waysOf(near).size).toBeGreaterThan(1)
      }
      const opened = GroupRow.rowsOf(turns, new Set(groups.map(({ key }) => key)))
      expect(opened.flatMap(({ turn }) => turn ?? [])).toEqual(turns)
    })
  )
})

it("a group stays open when a newer turn joins it", () => {
  const [head] = GroupRow.rowsOf(
    [3, 4, 5].map((n) => summary(n)),
    new Set()
  )
  const opened = GroupRow.rowsOf(
    [2, 3, 4, 5].map((n) => summary(n)),
    new Set([head?.group?.key ?? ""])
  )
  expect(opened).toHaveLength(5)
})
