import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as Headings from "../../src/conversation/Headings.ts"

const levelsOf = (depths: ReadonlyArray<number>): ReadonlyArray<number> => {
  const tree: Headings.Node = { type: "root", children: depths.map((n) => ({ type: "element", tagName: `h${n}` })) }
  Headings.renumber()(tree)
  return (tree.children ?? []).map(({ tagName }) => Number(tagName?.slice(1)))
}

it("headings begin at level 3 and keep their nesting", () => {
  expect(levelsOf([1, 2, 3, 2, 1])).toEqual([3, 4, 5, 4, 3])
  expect(levelsOf([4, 2, 4])).toEqual([3, 3, 4])
})

it("no heading is more than one level deeper than the heading before it, or above level 3", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 6 })), (depths) => {
      let before = 2
      for (const level of levelsOf(depths)) {
        expect(level).toBeGreaterThanOrEqual(3)
        expect(level).toBeLessThanOrEqual(Math.min(6, before + 1))
        before = level
      }
    })
  )
})
