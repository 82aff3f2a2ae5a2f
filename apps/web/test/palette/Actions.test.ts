import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as Actions from "../../src/palette/Actions.ts"

const ACTIONS = [
  { name: "Retry now", words: "attempt wait" },
  { name: "Give up", words: "end the wait" },
  { name: "Wait until …" },
  { name: "Switch to local/gpt-5", words: "model target provider" },
  { name: "The night", words: "report timeline turns" }
]

const found = (query: string) => Actions.matching(ACTIONS, query).map(({ name }) => name)

it("a name is found by parts of its words, in any order and case", () => {
  expect(found("GIVE")).toEqual(["Give up"])
  expect(found("gpt sw")).toEqual(["Switch to local/gpt-5"])
  expect(found("model")).toEqual(["Switch to local/gpt-5"])
  expect(found("nothing like it")).toEqual([])
})

it("a name comes before further words, and the beginning of a word before its inside", () => {
  expect(found("wait")).toEqual(["Wait until …", "Retry now", "Give up"])
  expect(found("t")[0]).toBe("Switch to local/gpt-5")
})

it("every item that is found has every word, and an empty query finds all in their order", () => {
  expect(found(" ")).toEqual(ACTIONS.map(({ name }) => name))
  const item = fc.record({ name: fc.string(), words: fc.string() })
  fc.assert(
    fc.property(fc.array(item), fc.string(), (items, query) => {
      const asked = query.toLowerCase().split(/\s+/)
      const expected = items.filter(({ name, words }) =>
        asked.every((word) => name.toLowerCase().includes(word) || words.toLowerCase().includes(word))
      )
      expect(new Set(Actions.matching(items, query))).toEqual(new Set(expected))
    })
  )
})
