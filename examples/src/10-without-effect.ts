/**
 * A turn in a plain TypeScript program: any async iterable as the model, a file for what must survive, and events as they come.
 *
 * Run it: `npx pnpm@12 exec node examples/src/10-without-effect.ts`
 */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const file = join(mkdtempSync(join(tmpdir(), "holdfast-")), "turns.db")
let calls = 0

/** Fails once, then answers. A real one would call your model, and throw whatever its SDK throws. */
async function* myModel() {
  if (calls++ === 0) throw Object.assign(new Error("Overloaded"), { status: 529 })
  yield* ["Still ", "here."]
}

// #region library
import { holdfast } from "holdfast"
import { sqliteStore } from "holdfast/sqlite"

const hf = holdfast({ model: myModel, retry: "interactive", store: sqliteStore(file) })
await hf.resume() // what an earlier process left
const turn = hf.turn("Are you there?", { id: "t1" }) // the same id again is the same turn
for await (const event of turn) {
  if (event.type === "text-delta") console.log(event.delta)
  if (event.type === "provider-retry") console.log(event.message, "again at", new Date(event.retryAt))
}
console.log(await turn.result) // { status: "completed", text: "Still here.", attempts: 2, … }
// #endregion library
