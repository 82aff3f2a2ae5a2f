/** Counts what was shown, and prints it line by line. */

let passed = 0
let failed = 0

/** Runs one scenario within a time; its sentence is printed with its seconds, or with the problem. */
export const show = async (title: string, guardMs: number, scenario: () => Promise<void>): Promise<void> => {
  const beganAt = performance.now()
  const seconds = (): string => `${((performance.now() - beganAt) / 1_000).toFixed(1)} s`
  let guard: NodeJS.Timeout | undefined
  try {
    const late = new Promise<never>((_, reject) => {
      guard = setTimeout(() => reject(new Error(`It has no end after ${seconds()}.`)), guardMs)
    })
    await Promise.race([scenario(), late])
    passed++
    console.log(`ok   ${title} (${seconds()})`)
  } catch (error) {
    failed++
    console.log(`FAIL ${title} (${seconds()})\n${error instanceof Error ? error.message : String(error)}`)
  } finally {
    clearTimeout(guard)
  }
}

/** Counts what was shown elsewhere. */
export const check = (holds: boolean): void => {
  if (holds) passed++
  else failed++
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
