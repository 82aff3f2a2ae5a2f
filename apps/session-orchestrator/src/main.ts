#!/usr/bin/env node
/**
 * Starts the process: enables Node's compile cache, then loads the program.
 *
 * Compiling some five hundred modules takes half of the time of a command. Node keeps the result of one run for the next, by the
 * contents of each file, in a folder of the user who installed Holdfast: Node runs the files in it, so no other user may write there.
 * If the folder cannot be written, nothing is kept. `NODE_COMPILE_CACHE` names another folder, `NODE_DISABLE_COMPILE_CACHE=1` none.
 */
import * as module from "node:module"
import { join } from "node:path"

const [major = ""] = process.versions.node.split(".")
if (Number(major) < 22) {
  process.stderr.write(`Holdfast needs Node 22 or newer; this is Node ${process.versions.node}.\n`)
  process.exit(2)
}

module.enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/compiled"))

await import("./Program.ts")
