/**
 * Loads `node:sqlite` without its warning.
 *
 * Early releases of Node 24 print on the terminal that the module is experimental when it is first loaded; later releases do not. A
 * static import would load it before any code of Holdfast runs, so it is loaded here, with that warning suppressed. All other warnings
 * are printed.
 */
import process from "node:process"
import type * as sqlite from "node:sqlite"

/** Opens a database, uses it, and closes it. */
export const using = <A>(
  file: string | URL,
  options: sqlite.DatabaseSyncOptions,
  use: (database: sqlite.DatabaseSync) => A
): A => {
  const database = new (load().DatabaseSync)(file, options)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

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
