/**
 * Ends a test run with one plain line, `N passed, N failed`, for programs and plain terminals. What failed outside of a test (a worker, an
 * error that nothing caught) is named above it as `FAIL`, as vitest names a test that failed.
 */
import { inspect } from "node:util"
import type { SerializedError } from "vitest"
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node"

export default class CountReporter implements Reporter {
  onTestRunEnd(
    modules: ReadonlyArray<TestModule>,
    errors: ReadonlyArray<SerializedError>,
    reason: TestRunEndReason
  ): void {
    let passed = 0
    let failed = errors.length
    for (const module of modules) {
      let failedHere = 0
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === "passed") passed++
        if (state === "failed") failedHere++
      }
      // A module that could not be loaded, or a suite whose hook failed, has no failed test of its own.
      failed += failedHere === 0 && module.state() === "failed" ? 1 : failedHere
    }
    if (reason === "interrupted" && failed === 0) failed = 1
    for (const error of errors) process.stdout.write(`\nFAIL outside of a test: ${described(error)}\n`)
    process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
  }
}

/** The stack, what caused it, and the test that ran meanwhile. */
const described = ({ cause, message, stack, VITEST_TEST_NAME, VITEST_TEST_PATH }: SerializedError): string =>
  [
    stack ?? message,
    ...(cause === undefined ? [] : [`cause: ${inspect(cause, { depth: 1 })}`]),
    ...(VITEST_TEST_PATH === undefined ? [] : [`while ${VITEST_TEST_PATH} ran (${VITEST_TEST_NAME ?? "no test"})`])
  ].join("\n  ")
