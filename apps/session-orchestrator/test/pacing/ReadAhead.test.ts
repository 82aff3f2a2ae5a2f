import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Slot, ReadAhead } from "../../src/pacing/ReadAhead.ts"

const limits = { atOnce: 2, most: 4, mostSize: 100 }

/** Events of turns whose time is near, in any order: some are wanted before they are read, some leave meanwhile. */
const actions = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant({ type: "near" as const }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("gone" as const), which: fc.nat() }) },
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant("ready" as const), which: fc.nat(), size: fc.nat(60), times: fc.nat(2) })
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("leaves" as const), which: fc.nat(), times: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant("due" as const), isFree: fc.boolean() }) }
  ),
  { maxLength: 200 }
)

interface Turn {
  readonly turn: number
  readonly slot: Slot
  isReady: boolean
  size: number
}

it("ReadAhead.F1, ReadAhead.F2, ReadAhead.F3: turns are read in order, within the limits, while no turn is due, and no slot is lost", () => {
  fc.assert(
    fc.property(actions, (actions) => {
      let isFree = true
      const gone = new Set<number>()
      const inside: Array<Turn> = []
      const begun: Array<number> = []
      let come = 0
      const held = () => inside.reduce((sum, { size }) => sum + size, 0)
      const ahead = new ReadAhead<number>(
        limits,
        () => isFree,
        (turn, slot) => {
          expect(isFree).toBe(true)
          expect(held()).toBeLessThan(limits.mostSize)
          if (gone.has(turn)) return false
          begun.push(turn)
          inside.push({ turn, slot, isReady: false, size: 0 })
          return true
        }
      )
      const pick = (which: number) => inside[which % Math.max(1, inside.length)]
      for (const action of actions) {
        switch (action.type) {
          case "near":
            ahead.near(come++)
            break
          case "gone": {
            const turn = action.which % Math.max(1, come)
            if (!begun.includes(turn)) gone.add(turn)
            break
          }
          case "ready": {
            const turn = pick(action.which)
            if (turn === undefined || turn.isReady) break
            turn.isReady = true
            turn.size = action.size
            turn.slot.weigh(action.size)
            for (let i = 0; i <= action.times; i++) turn.slot.ready()
            break
          }
          case "leaves": {
            const turn = pick(action.which)
            if (turn === undefined) break
            inside.splice(inside.indexOf(turn), 1)
            for (let i = 0; i <= action.times; i++) turn.slot.leave()
            break
          }
          case "due":
            isFree = action.isFree
            if (isFree) ahead.open()
        }
        expect(ahead.count).toBe(inside.length)
        expect(inside.length).toBeLessThanOrEqual(limits.most)
        expect(inside.filter(({ isReady }) => !isReady).length).toBeLessThanOrEqual(limits.atOnce)
      }
      isFree = true
      ahead.open()
      for (let turn = inside.pop(); turn !== undefined; turn = inside.pop()) turn.slot.leave()
      const expected = Array.from({ length: come }, (_, turn) => turn).filter((turn) => !gone.has(turn))
      expect(begun).toEqual(expected)
      expect(ahead.count).toBe(0)
    }),
    { numRuns: 500 }
  )
})

it("ReadAhead.F2: a large crowd whose time is near costs no more than its ids", () => {
  let slot: Slot | undefined
  let begun = 0
  const ahead = new ReadAhead<number>(
    { ...limits, most: 1 },
    () => true,
    (_, its) => {
      slot = its
      return ++begun > 0
    }
  )
  for (let turn = 0; turn < 20_000; turn++) ahead.near(turn)
  expect([begun, ahead.count]).toEqual([1, 1])
  ahead.close()
  slot?.leave()
  expect([begun, ahead.count]).toEqual([1, 0])
})
