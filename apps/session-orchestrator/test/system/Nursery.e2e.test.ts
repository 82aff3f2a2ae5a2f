import { assert, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Nursery from "../../src/system/Nursery.ts"

/** The largest nursery of a process in which most objects survive, in bytes. */
const largest = async (...options: ReadonlyArray<string>): Promise<number> => {
  const program = fileURLToPath(new URL("./nursery/Survivors.ts", import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [...options, program])
  return Number(stdout)
}

it("Nursery.N1: it doubles up to its limit, and again after V8 has shrunk it", () => {
  const mebibyte = 1024 * 1024
  assert.strictEqual(Nursery.factorAt(2 * mebibyte), 2)
  assert.strictEqual(Nursery.factorAt(2 * Nursery.HALF_BYTES - 1), 2)
  assert.strictEqual(Nursery.factorAt(2 * Nursery.HALF_BYTES), 1)
})

it("Nursery.N1: a process whose objects survive keeps a small nursery", async () => {
  assert.isAtMost(await largest(), 6 * Nursery.HALF_BYTES)
})

it("Nursery.N2: an operator's own option is left alone", async () => {
  assert.isAbove(await largest("--min-semi-space-size=32"), 6 * Nursery.HALF_BYTES)
})
