/** Counts what was shown, and prints it line by line. */

let passed = 0
let failed = 0

/** Runs one scenario; its sentence is printed with its time, or with the problem. */
export const show = async (title: string, scenario: () => Promise<void>): Promise<void> => {
  const beganAt = performance.now()
  try {
    await scenario()
    passed++
    console.log(`ok   ${title} (${((performance.now() - beganAt) / 1_000).toFixed(1)} s)`)
  } catch (error) {
    failed++
    console.log(`FAIL ${title}\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  }
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
