/** The runtimes that the library refuses. */
import { assert, it } from "vitest"
import { checkRuntime } from "../src/Holdfast.ts"

it("a runtime without Iterator, such as Node 20, is refused with what is needed", () => {
  assert.throws(() => checkRuntime({}), "holdfast needs Node 22 or newer: this runtime has no `Iterator`.")
  assert.doesNotThrow(() => checkRuntime(globalThis))
})
