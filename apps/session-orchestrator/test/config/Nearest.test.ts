import { expect, it } from "@effect/vitest"
import { nearest } from "../../src/config/Nearest.ts"

it.each<[string, ReadonlyArray<string>, string | undefined]>([
  ["abc", ["abcdefgh"], "abcdefgh"],
  ["ab", ["abcdefgh"], undefined],
  ["abcdefgh", ["abc"], "abc"],
  ["abcdef", ["abcxyf"], "abcxyf"],
  ["abcdef", ["abxyzf"], undefined],
  ["ba", ["ab"], "ab"],
  ["API_KEY", ["apikey"], "apikey"],
  ["prot", ["part", "port"], "port"]
])("the nearest to %s of %j is %s", (name, candidates, expected) => {
  expect(nearest(name, candidates)).toBe(expected)
})
