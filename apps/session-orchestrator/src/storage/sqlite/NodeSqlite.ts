/**
 * Loads `node:sqlite`, and nothing else.
 *
 * Early releases of Node 24 announce the module on the user's terminal as experimental when it is first loaded; later ones
 * do not. A static import would load it before any code of ours runs, so it is loaded here, with that one warning held
 * back. Every other warning passes.
 */
import process from "node:process"
import type * as sqlite from "node:sqlite"

/** `node:sqlite`, loaded at the first call. */
export const load = (): typeof sqlite => {
  const emitWarning = process.emitWarning
  process.emitWarning = (warning: string | Error, ...rest: Array<unknown>) => {
    if (!String(warning).startsWith("SQLite is an experimental feature")) {
      Reflect.apply(emitWarning, process, [warning, ...rest])
    }
  }
  try {
    return process.getBuiltinModule("node:sqlite")
  } finally {
    process.emitWarning = emitWarning
  }
}
