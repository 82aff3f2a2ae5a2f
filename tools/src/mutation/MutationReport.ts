/** What the mutation runner prints. */
import * as Equivalents from "./Equivalents.ts"
import * as Operators from "./Operators.ts"
import { packages } from "./Packages.ts"
import type { Place } from "./Places.ts"
import type { TestFailure } from "./Protocol.ts"

/** What came of one change. */
export type Outcome =
  | { readonly type: "noticed"; readonly by: TestFailure }
  /** A test file ran longer than its limit, or its process died: an endless loop is noticed too. */
  | { readonly type: "late" }
  /** `tests` ran and passed; without any, no test reaches the place. */
  | { readonly type: "survived"; readonly tests: ReadonlyArray<string> }

export interface Result {
  readonly place: Place
  readonly outcome: Outcome
}

/** What came of a change that survived some tests and was then asked of others. */
export const both = ({ outcome: first, place }: Result, { outcome: second }: Result): Result => {
  if (first.type !== "survived" || second.type !== "survived") return { place, outcome: second }
  return { place, outcome: { type: "survived", tests: [...first.tests, ...second.tests] } }
}

/** One line of progress. */
export const progress = ({ outcome, place }: Result, done: number, total: number, ms: number): string => {
  const by = outcome.type === "noticed" ? `  ${outcome.by.test.split("/").at(-1)}` : ""
  const count = `[${String(done).padStart(String(total).length)}/${total}]`
  const tag = outcome.type === "survived" ? "SURVIVED" : outcome.type
  return `${count} ${tag.padEnd(8)} ${position(place)} ${place.operator}  ${(ms / 1000).toFixed(1)} s${by}`
}

/** What came of all, with each survivor. */
export const summary = (
  results: ReadonlyArray<Result>,
  about: { readonly package: string; readonly seed: string; readonly places: number; readonly passedOver: number }
): string => {
  const survivors = results.filter(({ outcome }) => outcome.type === "survived")
  const late = results.filter(({ outcome }) => outcome.type === "late").length
  const noticed = results.length - survivors.length
  const perOperator = Operators.names.map((name) => {
    const ofIt = results.filter(({ place }) => place.operator === name)
    return `  ${name.padEnd(10)} ${ofIt.filter(({ outcome }) => outcome.type !== "survived").length} of ${ofIt.length}`
  })
  return [
    ...survivors.map(survivor),
    "",
    `${about.package}: ${noticed} of ${results.length} noticed (${percent(results).toFixed(1)} %), ${late} of them by the time limit; seed ${about.seed}`,
    ...perOperator,
    `  from ${about.places} places; ${about.passedOver} equivalent changes passed over`
  ].join("\n")
}

/** The share that was noticed, in percent; of nothing, all. */
export const percent = (results: ReadonlyArray<Result>): number =>
  results.length === 0
    ? 100
    : (100 * results.filter(({ outcome }) => outcome.type !== "survived").length) / results.length

/** The help text of the command. */
export const help = `Changes the sources of a package in one place at a time, and reports which changes no test notices.

Usage: tools/mutate --package NAME [--n N] [--seed S] [--min PERCENT] [--at FILE[:LINE]] [--quick] [--list]

  --package  ${packages.map(({ name }) => name).join(", ")}
  --n        how many places are drawn (100)
  --seed     what the places are drawn by (1); the same seed draws the same places
  --min      exits with 1 when a smaller share is noticed
  --at       takes the places of one file, or of one line of it, instead of a sample
  --quick    asks the unit and int tests of the package alone, and not all that reach a survivor
  --list     prints the places and the equivalent changes that are passed over, and runs nothing

Operators:
${Operators.names.map((name) => `  ${name.padEnd(10)} ${Operators.descriptions[name]}`).join("\n")}

Equivalent changes that are passed over:
${Equivalents.rules.map(({ reason }) => `  ${reason}`).join("\n")}
${Equivalents.listed.map(({ before, operator, path, reason }) => `  ${path}, ${operator} of \`${before}\`: ${reason}`).join("\n")}
`

/** Where a place is. */
export const position = ({ line, path }: Place): string => `${path}:${line}`

// --- internal

const survivor = ({ outcome, place }: Result): string => {
  const tests = outcome.type === "survived" ? outcome.tests : []
  const ran =
    tests.length === 0 ? "no test reaches it" : `passed: ${tests.map((path) => path.split("/").at(-1)).join(", ")}`
  return `\n${position(place)} ${place.operator}\n  - ${short(place.before)}\n  + ${short(place.after)}\n  ${ran}`
}

const short = (code: string): string => (code.length <= 160 ? code : `${code.slice(0, 120)} … ${code.slice(-36)}`)
