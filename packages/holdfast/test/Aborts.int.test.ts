/** What turns leave behind in a process when they are aborted in their waits. */
import { assert, it } from "vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const PROGRAM = fileURLToPath(new URL("AbortingProgram.ts", import.meta.url))

/** A program that does not end by itself is killed then, which fails the test. */
const GUARD_MS = 150_000

it("rule D8: 500 turns that are aborted in their waits leave no timer, and their process ends by itself", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], { timeout: GUARD_MS })
  const { timersInWaits, ...left } = JSON.parse(stdout)
  assert.isAtLeast(timersInWaits, 500)
  assert.deepStrictEqual(left, { aborted: 500, timers: 0, isRetrying: false })
})
