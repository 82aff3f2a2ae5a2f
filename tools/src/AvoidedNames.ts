/**
 * Finds exported names that have a word of the glossary's column "Avoid". Pure.
 *
 * AvoidedNames.A1. Checked are the words in code style (`chat`). The other words of the column name something else elsewhere, so their
 *     place is a matter of review.
 * AvoidedNames.A2. A word is found in any case and as a part of a name: `thread` in `CheckpointThread`, `THREAD_COUNT` and `threads`.
 */

/** A word that no exported name has, and the term that stands for it. */
export interface Avoided {
  readonly word: string
  readonly term: string
}

/** The words in code style in the columns "Avoid" of a page; the term is the first cell of the row (A1). */
export const avoidedIn = (page: string): ReadonlyArray<Avoided> => {
  let column = -1
  return page.split("\n").flatMap((line) => {
    if (!line.startsWith("|")) {
      column = -1
      return []
    }
    const cells = line.split("|").map((cell) => cell.trim())
    if (cells.includes("Avoid")) {
      column = cells.indexOf("Avoid")
      return []
    }
    const term = (cells[1] ?? "").replaceAll("*", "")
    return Array.from((cells[column] ?? "").matchAll(/`([^`]+)`/g), ([, word = ""]) => ({ word, term }))
  })
}

/** The first avoided word of a name (A2). */
export const avoidedBy = (name: string, avoided: ReadonlyArray<Avoided>): Avoided | undefined => {
  const words = ` ${wordsOf(name)} `
  return avoided.find(({ word }) => words.includes(` ${word} `) || words.includes(` ${word}s `))
}

/** How often each name with an avoided word is exported, with the word and its term. */
export const countsOf = (
  names: ReadonlyArray<string>,
  avoided: ReadonlyArray<Avoided>
): ReadonlyMap<string, { readonly count: number; readonly by: Avoided }> => {
  const counts = new Map<string, { readonly count: number; readonly by: Avoided }>()
  for (const name of names) {
    const by = avoidedBy(name, avoided)
    if (by !== undefined) counts.set(name, { count: (counts.get(name)?.count ?? 0) + 1, by })
  }
  return counts
}

// --- internal

/** `CheckpointThread` and `CHECKPOINT_THREAD` are `checkpoint thread`. */
const wordsOf = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase()
