import { describe, expect, it } from "@effect/vitest"
import type { Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import { type Append, type NumberedEvent, plan } from "../../../src/storage/tables/EventTable.ts"
import * as NumberedData from "../NumberedData.ts"
import * as Law from "../../Law.ts"

const TURNS = 4

/** Turn `n` is in conversation `n % 2`. The `step` of an event identifies its writer. */
const append = (n: number, position: number, steps: ReadonlyArray<number>): Append => ({
  turnId: NumberedData.turnId(n),
  position,
  events: steps.map((step) => {
    const event = NumberedData.usage(n, n % 2, step)
    return { event, json: JSON.stringify(event) }
  })
})

const appends = fc.array(
  fc
    .tuple(fc.nat({ max: TURNS - 1 }), fc.nat({ max: 6 }), fc.array(fc.nat(), { minLength: 1, maxLength: 4 }))
    .map(([n, position, steps]) => append(n, position, steps)),
  { maxLength: 12 }
)

/** A database in memory: plans a group and writes it. */
const disk = () => {
  const rows: Array<NumberedEvent> = []
  const lastIds = () => {
    const ids = new Map<Ids.ConversationId, number>()
    for (const row of rows) ids.set(row.conversationId, Math.max(row.id, ids.get(row.conversationId) ?? 0))
    return ids
  }
  return {
    rows,
    write: (group: ReadonlyArray<Append>) => {
      const { added, results } = plan(group, rows, lastIds())
      rows.push(...added)
      return results
    }
  }
}

describe("EventTable", () => {
  it("ids have no gap after any appends, and a turn's position is taken once", () =>
    Law.holds([fc.array(appends, { maxLength: 5 })], (groups) => {
      const { rows, write } = disk()
      groups.forEach((group) => write(group))
      for (const of of [0, 1]) {
        const ids = rows.filter((row) => row.conversationId === NumberedData.conversationId(of)).map((row) => row.id)
        expect(ids).toEqual(ids.map((_, index) => index + 1))
      }
      expect(new Set(rows.map((row) => `${row.turnId} ${row.position}`)).size).toBe(rows.length)
    }))

  it("every append returns the stored events of its positions, whatever their writer", () =>
    Law.holds([fc.array(appends, { maxLength: 5 })], (groups) => {
      const { rows, write } = disk()
      const answers = groups.flatMap((group) => write(group).map((result, index) => ({ result, asked: group[index] })))
      for (const { asked, result } of answers) {
        const places = rows
          .filter((row) => row.turnId === asked?.turnId && row.position >= asked.position)
          .sort((a, b) => a.position - b.position)
          .slice(0, asked?.events.length)
        expect(result).toEqual(places.map(({ event, id, json }) => ({ id, event, json })))
      }
    }))

  it("the grouping of appends does not change the written events", () =>
    Law.holds([appends], (group) => {
      const together = disk()
      const oneByOne = disk()
      together.write(group)
      group.forEach((one) => oneByOne.write([one]))
      expect(oneByOne.rows).toEqual(together.rows)
    }))
})
