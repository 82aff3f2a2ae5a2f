/** Ends a test run with one plain line, `N passed, N failed`, for programs and plain terminals. */
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node"

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>, reason: TestRunEndReason): void {
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
    process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
  }
}
