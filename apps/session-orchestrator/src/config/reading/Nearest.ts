/** Finds the name that a misspelt one most likely stands for ("Did you mean"). */

/**
 * The nearest candidate; `undefined` if none is near.
 *
 * **Details**
 *
 * Case, `-` and `_` do not count. Two names are near if a third of the letters differ at most, where swapped neighbours count as one; or
 * if one is the beginning of the other and has three letters or more (`apiKey` for `apiKeyEnv`).
 */
export const nearest = (name: string, candidates: Iterable<string>): string | undefined => {
  const wanted = plain(name)
  let best: { readonly candidate: string; readonly distance: number } | undefined
  for (const candidate of candidates) {
    const given = plain(candidate)
    const isBeginning =
      Math.min(given.length, wanted.length) >= 3 && (given.startsWith(wanted) || wanted.startsWith(given))
    const distance = isBeginning ? Math.min(1, distanceOf(wanted, given)) : distanceOf(wanted, given)
    const tolerated = Math.max(1, Math.floor(Math.max(wanted.length, given.length) / 3))
    if (
      distance <= tolerated &&
      distance < Math.max(wanted.length, given.length) &&
      distance < (best?.distance ?? Infinity)
    ) {
      best = { candidate, distance }
    }
  }
  return best?.candidate
}

/** The question behind a misspelt name, ` Did you mean "path"?`; empty if no candidate is near. */
export const question = (name: string, candidates: Iterable<string>): string => {
  const near = nearest(name, candidates)
  return near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`
}

// --- internal

/** The longest name that is compared: the table below grows with the square of the length. */
const LONGEST = 64

const plain = (name: string): string => name.slice(0, LONGEST).toLowerCase().replaceAll(/[-_]/g, "")

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. */
const distanceOf = (a: string, b: string): number => {
  let beforeLast: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(beforeLast, j - 2) + 1 : Infinity
      row.push(Math.min(substituted, at(last, j) + 1, at(row, j - 1) + 1, swapped))
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

const at = (row: ReadonlyArray<number>, index: number): number => row[index] ?? Infinity
