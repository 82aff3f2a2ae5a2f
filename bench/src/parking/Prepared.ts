/** Databases of conversations that wait for their first prompt, and what one process parks of them. */
import { copyFileSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import * as Processes from "../Processes.ts"
import type { Tree } from "../Trees.ts"
import type * as DatabaseModule from "./Database.ts"

/** What a checkout's benchmark does to the database of its own service. */
export type Database = typeof DatabaseModule

export interface Prepared {
  readonly tree: Tree
  readonly sql: Database
  readonly turns: number
  /** Conversations without a message. */
  readonly fresh: string
  /** Conversations with a history; the same as `fresh` where none is asked for. */
  readonly old: string
}

/** Makes the conversations of a checkout. */
export const prepare = async (
  place: Processes.Place,
  tree: Tree,
  turns: number,
  history: number
): Promise<Prepared> => {
  const sql: Database = await import(join(tree.folder, "bench/src/parking/Database.ts"))
  const fresh = join(place.folder, `${tree.name}-fresh.db`)
  await inProcess(place, tree, /(DONE) /, fresh, "create", String(turns))
  if (history === 0) return { tree, sql, turns, fresh, old: fresh }
  const old = join(place.folder, `${tree.name}-old.db`)
  copyFileSync(fresh, old)
  sql.addHistory(old, history)
  return { tree, sql, turns, fresh, old }
}

export interface Parked {
  readonly perSecond: number
  /** On disk, a turn. */
  readonly bytes: number
  readonly database: string
}

let parks = 0

/** Parks a turn of each conversation, in a new process, on a copy of the database. */
export const park = async (place: Processes.Place, prepared: Prepared, from: "fresh" | "old"): Promise<Parked> => {
  const { sql, tree, turns } = prepared
  const database = copyOf(place, prepared[from])
  const before = sql.sizeOf(database)
  const seconds = await inProcess(place, tree, /SECONDS ([\d.]+)[^]*DONE /, database, "park")
  return { perSecond: turns / Number(seconds), bytes: (sql.sizeOf(database) - before) / turns, database }
}

/** A copy in a folder of its own, at the place where the service looks for it. */
export const copyOf = (place: Processes.Place, database: string): string => {
  const copy = join(place.folder, `copy-${++parks}`, ".holdfast", "holdfast.db")
  mkdirSync(join(copy, ".."), { recursive: true })
  copyFileSync(database, copy)
  return copy
}

// --- internal

const inProcess = async (place: Processes.Place, tree: Tree, pattern: RegExp, ...args: ReadonlyArray<string>) => {
  const found = await Processes.start(
    place.children,
    place.folder,
    [join(import.meta.dirname, "InProcess.ts"), tree.folder, ...args],
    pattern
  )
  // The database is closed, and what is in its log moved into it, before the process is gone.
  const child = place.children.at(-1)
  if (child !== undefined) await Processes.ended(child)
  return found
}
