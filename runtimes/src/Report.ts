/** Counts what was shown, and prints it line by line. */

/** Takes one check: its sentence, and the problem if it does not hold. */
export type Check = (title: string, problem: string | undefined) => void

let passed = 0
let failed = 0

export const check: Check = (title, problem) => {
  console.log(`${problem === undefined ? "ok  " : "FAIL"} ${title}${problem === undefined ? "" : `\n${problem}`}`)
  if (problem === undefined) passed++
  else failed++
}

export const isPassed = (): boolean => failed === 0

/** The last line of a run. */
export const summary = (): string => `${passed} passed, ${failed} failed`
