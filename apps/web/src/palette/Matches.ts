/** Finds names by the words of a query. Pure. */

/** An item with its name. */
interface Named {
  readonly name: string
  readonly words?: string
}

/**
 * The items that have every word of a query, best first: in the name before in the further words, at the beginning of a word before inside of one.
 * Items that fit alike keep their order, and an empty query has all of them.
 */
export const of = <A extends Named>(items: ReadonlyArray<A>, query: string): ReadonlyArray<A> => {
  const asked = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
  return items
    .flatMap((item) => {
      const cost = costOf(item, asked)
      return cost === undefined ? [] : [{ item, cost }]
    })
    .toSorted((a, b) => a.cost - b.cost)
    .map(({ item }) => item)
}

// --- internal

/** The sum of the words' costs; `undefined` where a word is missing. */
const costOf = ({ name, words = "" }: Named, asked: ReadonlyArray<string>): number | undefined => {
  let sum = 0
  for (const word of asked) {
    const cost = [placeOf(name, word), placeOf(words, word)].findIndex((place) => place !== undefined)
    if (cost === -1) return undefined
    sum += 2 * cost + (placeOf(cost === 0 ? name : words, word) === "inside" ? 1 : 0)
  }
  return sum
}

const placeOf = (text: string, word: string): "beginning" | "inside" | undefined => {
  const lower = text.toLowerCase()
  for (let at = lower.indexOf(word), inside = false; ; at = lower.indexOf(word, at + 1), inside = true) {
    if (at === -1) return inside ? "inside" : undefined
    if (at === 0 || !/[\p{L}\p{N}]/u.test(lower[at - 1] ?? "")) return "beginning"
  }
}
