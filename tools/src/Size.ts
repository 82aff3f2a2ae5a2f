/** Counts what a package is made of: code lines, files, numbered invariants, services; and finds headers that are too long. Pure. */
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

/** The most lines of text of a header, the comment at the top of a file. */
const MOST_LINES = 12

/** The most numbered invariants of a file. */
const MOST_INVARIANTS = 3

/** A sentence for each file whose header is too long, or that numbers too many invariants. */
export const longHeaders = (sources: ReadonlyArray<Source>): ReadonlyArray<string> =>
  sources.flatMap((source) => {
    const lines = HEADER.exec(source.text)?.[1]?.split("\n").length ?? 0
    const invariants = matchesOf(INVARIANT, source)
    return [
      ...(lines > MOST_LINES
        ? [
            `${source.path}: its header has ${lines} lines, expected at most ${MOST_LINES}. Move what is about one declaration to its doc comment.`
          ]
        : []),
      ...(invariants > MOST_INVARIANTS
        ? [
            `${source.path}: it numbers ${invariants} invariants, expected at most ${MOST_INVARIANTS}. Number only those about concurrent state.`
          ]
        : [])
    ]
  })

// --- internal

/** The lines between the first and the last of a comment at the top. */
const HEADER = /^(?:#!.*\n)?\/\*\*\n([\s\S]*?)\n \*\//

/** As in the header of a file: ` * Parking.P1. ...`. */
const INVARIANT = /^ \* [A-Z][A-Za-z]+\.[A-Z]\d+\./gm
const SERVICE = /\bextends Context\.Service</g

const matchesOf = (pattern: RegExp, { text }: Source): number => Array.from(text.matchAll(pattern)).length
