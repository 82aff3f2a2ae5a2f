/** Counts and prints the checks of `test:runtimes`, `test:browser` and `test:clients`. */

/** Takes one check: its sentence, and the problem if it does not hold. */
export type Check = (title: string, problem: string | undefined) => void

let passed = 0
let failed = 0

/** Counts a check that prints nothing. */
export const count = (holds: boolean): void => {
  if (holds) passed++
  else failed++
}

/** Counts a check, and prints it. */
export const check: Check = (title, problem) => {
  console.log(problem === undefined ? `ok   ${title}` : `FAIL ${title}\n${problem}`)
  count(problem === undefined)
}

/** Runs one scenario, at most for `guardMs`; its sentence is printed with its seconds, or with the problem. */
export const show = async (title: string, scenario: () => Promise<void>, guardMs?: number): Promise<void> => {
  const beganAt = performance.now()
  const seconds = (): string => `${((performance.now() - beganAt) / 1_000).toFixed(1)} s`
  let guard: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    if (guardMs === undefined) return
    guard = setTimeout(() => reject(new Error(`It has no end after ${seconds()}.`)), guardMs)
  })
  let problem: string | undefined
  try {
    await Promise.race([scenario(), late])
  } catch (error) {
    problem = error instanceof Error ? (error.stack ?? error.message) : String(error)
  } finally {
    clearTimeout(guard)
  }
  check(`${title} (${seconds()})`, problem)
}

/** Fails with a sentence. */
export const ensure = (holds: boolean, sentence: string): void => {
  if (!holds) throw new Error(sentence)
}

/** Fails where two values differ. */
export const same = (found: unknown, expected: unknown, what: string): void =>
  ensure(
    JSON.stringify(found) === JSON.stringify(expected),
    `${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`
  )

export const isPassed = (): boolean => failed === 0

/** The last line of a run. */
export const summary = (): string => `${passed} passed, ${failed} failed`
