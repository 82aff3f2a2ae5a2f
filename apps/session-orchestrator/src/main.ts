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

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
// What `undici` and `@effect/platform-node` ask for.
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`Holdfast needs Node 22.19 or newer; this is Node ${process.versions.node}.\n`)
  process.exit(2)
}

/** A small nursery of V8: 60 MB less for a thousand open streams. Node takes it at its start alone. NODE_OPTIONS stand in its place, if there are any. */
const NURSERY = "--max-semi-space-size=16"

const [, main = "", command = "serve"] = process.argv
// A socket that was handed over (http/HttpServer.ts) is lost where Node executes itself anew.
const hasSocket = process.env["LISTEN_PID"] === String(process.pid)
const isPlain = process.execArgv.length === 0 && process.env["NODE_OPTIONS"] === undefined && !hasSocket
if (command === "serve" && isPlain && process.platform !== "win32")
  process.execve?.(process.execPath, [process.execPath, NURSERY, main, ...process.argv.slice(2)], process.env)

module.enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/compiled"))

await import("./Program.ts")
