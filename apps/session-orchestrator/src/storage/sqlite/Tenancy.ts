/**
 * Keeps a SQLite file to one process: its owner, which runs every turn in it. Other processes work through the owner.
 *
 * Tenancy.T1. A file has one owner. A second process is refused with an error that names the owner and the next step.
 * Tenancy.T3. A process that dies, also of `kill -9`, holds nothing any more: its file can be owned, and its turns are taken up.
 * Tenancy.T4. A file with a second name (a hard link) is refused: its lock, and SQLite's log, would exist under one of the names only.
 *
 * The lock is `FILE.lock` beside the database (`FileLock`); its note names where the owner listens. It exists while the lock is held, and
 * after a `kill -9`.
 */
import { StorageFailure } from "@holdfast/journal/sql"
import { DatabaseFile, NodeSqlite, SqliteError } from "@holdfast/journal/sqlite"
import { StorageError } from "@holdfast/journal"
import { Quote } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import { pathToFileURL } from "node:url"
import { versions } from "../DatabaseSchema.ts"
import * as FileLock from "./FileLock.ts"

/** The process that holds a lock, as its note describes it. */
export const Holder = Schema.Struct({
  /** Differs from every other holder's. */
  id: Schema.String,
  pid: Schema.Int,
  hostname: Schema.String,
  /** Epoch milliseconds. */
  since: Schema.Finite,
  /** The URL on which it listens, by which other processes on this machine reach it. */
  url: Schema.optionalKey(Schema.String)
})
export type Holder = typeof Holder.Type

/** What an owner knows of its file. */
export interface TenancyService {
  /** A description of the process that owned the file before and died; absent if the last owner stopped in order. */
  readonly predecessor?: string | undefined
}

/** The default, without a layer: no other process can reach the data, or another mechanism ensures that turns run once. */
export const Tenancy = Context.Reference<TenancyService>("@holdfast/session-orchestrator/storage/Tenancy", {
  defaultValue: () => ({})
})

/**
 * Owns a file for as long as the layer lives; must be built before anything is written to the file (Tenancy.T1).
 *
 * @param url the URL on which the process listens; other processes use it, or report it
 */
export const layerOwner = (path: string, url?: string): Layer.Layer<never, StorageError> =>
  path === DatabaseFile.MEMORY
    ? Layer.empty
    : Layer.effect(
        Tenancy,
        Effect.gen(function* () {
          yield* DatabaseFile.prepare(path)
          yield* DatabaseFile.refuseLinks(path) // Tenancy.T4
          yield* refuseForeign(path)
          const note = yield* noteOf(url)
          const acquired = locking(path, () => FileLock.acquireUnsafe(lockOf(fs.realpathSync(path)), note))
          const { left } = yield* Effect.acquireRelease(
            Effect.flatMap(
              acquired,
              (attempt) => (attempt._tag === "Held" ? Effect.succeed(attempt) : refuse(path, attempt.note)) // Tenancy.T1
            ),
            ({ release }) => Effect.sync(release)
          )
          const holder = readHolder(left)
          return { predecessor: holder && describe(holder) }
        })
      )

/** The owner of a file, which must exist; `undefined` without an owner. Fails if the lock cannot be read. */
export const ownerOf = (path: string): Effect.Effect<Holder | "unnamed" | undefined, StorageError> =>
  Effect.map(heldBy(path), (held) => (held === undefined ? undefined : (readHolder(held.note) ?? "unnamed")))

/** Fails as `layerOwner` does if a file has an owner, and changes nothing. */
export const refuseOwned = Effect.fnUntraced(function* (path: string) {
  const held = yield* Effect.orElseSucceed(heldBy(path), () => undefined)
  if (held !== undefined) yield* refuse(path, held.note)
})

/** Fails for the file of another program. A file that SQLite cannot read has its error where it is opened. */
export const refuseForeign = (path: string): Effect.Effect<void, StorageError> =>
  Effect.flatMap(
    Effect.orElseSucceed(tablesIn(path, path), () => []),
    (tables) => refuseTables(path, tables)
  )

/** Fails where a service could not own or open the file, and creates nothing. A file that a service owns now is accepted. */
export const check = Effect.fnUntraced(function* (path: string): Effect.fn.Return<void, StorageError> {
  if (path === DatabaseFile.MEMORY || !(yield* DatabaseFile.check(path))) return
  yield* DatabaseFile.refuseLinks(path)
  if ((yield* ownerOf(path)) !== undefined) return
  // Otherwise SQLite leaves its log and its index there.
  const untouched = Object.assign(pathToFileURL(path), { search: "immutable=1" })
  yield* refuseTables(path, yield* tablesIn(path, untouched))
})

// --- internal

/** Beside the file itself, without symbolic links. */
const lockOf = (file: string): string => `${file}.lock`

const heldBy = (path: string) => locking(path, () => FileLock.holderUnsafe(lockOf(fs.realpathSync(path))))

const noteOf = (url: string | undefined): Effect.Effect<string> =>
  Effect.map(Clock.currentTimeMillis, (since) => {
    const { pid } = process
    const holder: Holder = { id: globalThis.crypto.randomUUID(), pid, hostname: os.hostname(), since }
    return JSON.stringify(url === undefined ? holder : { ...holder, url })
  })

const decodeHolder = Schema.decodeUnknownOption(Schema.fromJsonString(Holder))

const readHolder = (note: string | undefined): Holder | undefined => Option.getOrUndefined(decodeHolder(note))

/** Describes a holder: `process 4711 on mill, at http://127.0.0.1:4747, since 2031-04-01 02:14:05 UTC`. */
export const describe = ({ hostname, pid, since, url }: Holder): string =>
  [
    `process ${pid} on ${hostname}`,
    ...(url === undefined ? [] : [`at ${url}`]),
    `since ${new Date(since).toISOString().slice(0, 19).replace("T", " ")} UTC`
  ].join(", ")

const refuse = (path: string, note: string | undefined): Effect.Effect<never, StorageError> => {
  const holder = readHolder(note)
  const message =
    `The database ${path} belongs to another Holdfast${holder === undefined ? "" : ` (${describe(holder)})`}, and two would ` +
    `run the same turns. ${holder === undefined ? "Use or stop that one" : `Use that one, or stop it with: kill ${holder.pid}`}; ` +
    "or set database.path to another file. Nothing was changed."
  return Effect.fail(new StorageError({ message }))
}

const refuseTables = (path: string, tables: ReadonlyArray<string>): Effect.Effect<void, StorageError> => {
  const [first] = tables
  if (first === undefined || tables.includes(versions.table)) return Effect.void
  const message =
    `The database ${path} is of another program: it has the table ${Quote.of(first)}, and none of Holdfast. ` +
    "Set database.path to a database of Holdfast, to an empty file or to a new one. Nothing was changed."
  return Effect.fail(new StorageError({ message }))
}

const tablesIn = (path: string, location: string | URL): Effect.Effect<ReadonlyArray<string>, StorageError> =>
  Effect.try({
    try: () =>
      NodeSqlite.using(location, { readOnly: true }, (database) =>
        database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all()
      ).map(({ name }) => String(name)),
    catch: (cause) => StorageFailure.explain(path, "open the database", SqliteError.classify(cause, "open"))
  })

const locking = <A>(path: string, act: () => A): Effect.Effect<A, StorageError> =>
  Effect.try({
    try: act,
    catch: (cause) =>
      new StorageError({
        message:
          `Could not lock the database ${path}: the system said "${cause instanceof Error ? cause.message : String(cause)}". ` +
          "Check that its directory can be written by this user, and is on a disk of this machine that has room."
      })
  })
