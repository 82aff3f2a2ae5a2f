#!/usr/bin/env node
/**
 * Where the process begins: with what is compiled already, then the program.
 *
 * Compiling some five hundred modules is half of the time that a command takes. Node keeps the result of one run for the next, by the
 * contents of each file, in a folder that belongs to whoever installed Holdfast: what lies there is run, so nobody else may write it.
 * Where it cannot be written nothing is kept. `NODE_COMPILE_CACHE` names another folder, `NODE_DISABLE_COMPILE_CACHE=1` none.
 */
import { enableCompileCache } from "node:module"
import { join } from "node:path"

enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/compiled"))

await import("./Program.ts")
