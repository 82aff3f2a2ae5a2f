/** Counts what a package is made of: code lines, files, numbered invariants, services. Pure. */
import { packageOf } from "./survey/Measures.ts"
import { codeLines, parse, type Source } from "./survey/Source.ts"

/** The counts of all packages, by names such as `kernel: code lines`. */
export const countsOf = (sources: ReadonlyArray<Source>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const source of sources) {
    const found = {
      "code lines": codeLines(parse(source)),
      files: 1,
      "numbered invariants": matchesOf(INVARIANT, source),
      services: matchesOf(SERVICE, source)
    }
    for (const [what, count] of Object.entries(found)) {
      const name = `${packageOf(source.path)}: ${what}`
      counts.set(name, (counts.get(name) ?? 0) + count)
    }
  }
  return counts
}

// --- internal

/** As in the header of a file: ` * Parking.P1. ...`. */
const INVARIANT = /^ \* [A-Z][A-Za-z]+\.[A-Z]\d+\./gm
const SERVICE = /\bextends Context\.Service</g

const matchesOf = (pattern: RegExp, { text }: Source): number => Array.from(text.matchAll(pattern)).length
