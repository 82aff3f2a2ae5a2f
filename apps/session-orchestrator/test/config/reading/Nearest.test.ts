import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { nearest } from "../../../src/config/reading/Nearest.ts"
import * as Law from "../../Law.ts"

it.each<[string, ReadonlyArray<string>, string | undefined]>([
  ["abc", ["abcdefgh"], "abcdefgh"],
  ["ab", ["abcdefgh"], undefined],
  ["abc", ["abcde"], "abcde"],
  ["abcdefgh", ["abc"], "abc"],
  ["abcdef", ["abcxyf"], "abcxyf"],
  ["abcdef", ["abxyzf"], undefined],
  ["ba", ["ab"], "ab"],
  ["API_KEY", ["apikey"], "apikey"],
  ["prot", ["part", "port"], "port"]
])("the nearest to %s of %j is %s", (name, candidates, expected) => {
  expect(nearest(name, candidates)).toBe(expected)
})

/** The distance by definition: the cheapest way to turn one name into the other, from their ends. */
const wrong = (a: string, b: string): number => {
  if (a === "" || b === "") return a.length + b.length
  const [x, y] = [a.slice(0, -1), b.slice(0, -1)]
  const isSwapped = a.length > 1 && b.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1)
  return Math.min(
    wrong(x, y) + (a.at(-1) === b.at(-1) ? 0 : 1),
    wrong(x, b) + 1,
    wrong(a, y) + 1,
    isSwapped ? wrong(a.slice(0, -2), b.slice(0, -2)) + 1 : Infinity
  )
}

it("a name is near if a third of its letters are wrong at most, or as the beginning of the other; the nearest of several is chosen", () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 6 })
  const isBeginning = (a: string, b: string) => a.length >= 3 && b.startsWith(a)
  Law.holdsWith({ numRuns: 1_000 }, [name, fc.array(name, { maxLength: 3 })], (wanted, candidates) => {
    const near = candidates.flatMap((candidate) => {
      const length = Math.max(wanted.length, candidate.length)
      const isPart = isBeginning(wanted, candidate) || isBeginning(candidate, wanted)
      const distance = Math.min(wrong(wanted, candidate), isPart ? 1 : Infinity)
      return distance <= Math.max(1, Math.floor(length / 3)) && distance < length ? [{ candidate, distance }] : []
    })
    const least = Math.min(...near.map(({ distance }) => distance))
    expect(nearest(wanted, candidates)).toBe(near.find(({ distance }) => distance === least)?.candidate)
  })
})

it("a long name is compared by its beginning", () => {
  const long = "x".repeat(64)
  expect(nearest(`${long}aaaa`, [`${long}${"b".repeat(60)}`])).toBe(`${long}${"b".repeat(60)}`)
  const other = `${"x".repeat(63)}y`
  expect(nearest(`${long}aaaa`, [other, `${long}bbbb`])).toBe(`${long}bbbb`)
})
