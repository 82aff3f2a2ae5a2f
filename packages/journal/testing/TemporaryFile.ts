/** A path for a database, in a directory that is deleted after the test. */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** The path of a file that does not exist, until the scope ends. */
export const temporaryFile = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
).pipe(Effect.map((directory) => path.join(directory, "data", "holdfast.db")))
