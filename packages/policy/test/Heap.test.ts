import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Heap } from "../src/Heap.ts"

interface Item {
  readonly key: number
  readonly turn: number
}

const drain = (heap: Heap<Item>): Array<Item> => {
  const items: Array<Item> = []
  for (let first = heap.first; first !== undefined; first = heap.first) {
    items.push(first)
    heap.delete(first)
  }
  return items
}

it("after any additions and removals items come in the order of their keys, equal keys in the order of arrival", () => {
  const actions = fc.array(
    fc.oneof(fc.record({ add: fc.integer({ min: 0, max: 20 }) }), fc.record({ remove: fc.nat() }))
  )
  fc.assert(
    fc.property(actions, (actions) => {
      const heap = new Heap<Item>((item) => item.key)
      const model: Array<Item> = []
      actions.forEach((action, turn) => {
        if ("add" in action) {
          const item = { key: action.add, turn }
          heap.add(item)
          model.push(item)
        } else {
          const [item] = model.splice(action.remove % Math.max(model.length, 1), 1)
          if (item !== undefined) heap.delete(item)
        }
        expect(heap.size).toBe(model.length)
      })
      expect(drain(heap)).toEqual(model.sort((a, b) => a.key - b.key || a.turn - b.turn))
    }),
    { numRuns: 500 }
  )
})

it("an item that is added twice comes out once, and removing an absent item does nothing", () => {
  const heap = new Heap<Item>((item) => item.key)
  const item = { key: 1, turn: 0 }
  heap.add(item)
  heap.add(item)
  heap.delete({ key: 1, turn: 0 })
  expect(drain(heap)).toEqual([item])
  heap.delete(item)
  expect(heap.size).toBe(0)
})
