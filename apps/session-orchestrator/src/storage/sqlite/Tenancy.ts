/**
 * Decides which process runs the turns of a SQLite file: its owner, or a guest.
 *
 * The owner (`serve`) runs every turn in the file except those of guests. A guest (`run`) runs its own turns only.
 *
 * Tenancy.T1. A file has one owner. A second process is refused with an error that names the owner and the next step.
 * Tenancy.T2. A guest can start and end at any time, and an owner can start beside it: a guest's turn has the guest's name in its id
 *     from its acceptance on, and no other process runs it while that guest lives.
 * Tenancy.T3. A process that dies, also of `kill -9`, holds nothing any more: its file can be owned, and the next start of an owner takes
 *     up a guest's turns.
 * Tenancy.T4. A file with a second name (a hard link) is refused: its lock, and SQLite's log, would exist under one of the names only.
 *
 * Both hold locks beside the database (`FileLock`): `FILE.lock` is the owner's, `FILE.run-NAME` a guest's. The files exist while the
 * locks are held, and after a `kill -9`.
 */
import { DatabaseFile } from "@holdfast/journal/sqlite"
import { StorageError } from "@holdfast/journal"
import { Ids } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Schema, type Scope } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as FileLock from "./FileLock.ts"
import * as TurnIds from "../TurnIds.ts"

/** The process that holds a lock, as its note describes it. */
export const Holder = Schema.Struct({
  /** Differs from every other holder's. */
  id: Schema.String,
  pid: Schema.Int,
  hostname: Schema.String,
  /** Epoch milliseconds. */
  since: Schema.Finite,
  /** The URL on which it listens, if that was known beforehand. */
  url: Schema.optionalKey(Schema.String)
})
export type Holder = typeof Holder.Type

/** The role of this process on its database. */
export interface TenancyService {
  /** A description of the process that owned the file before and died; absent if the last owner stopped in order. */
  readonly predecessor?: string | undefined
  /** A new turn's id; it identifies a guest that runs the turn (Tenancy.T2). */
  readonly newTurnId: () => Ids.TurnId
  /** Whether another living process runs a turn without a seal. */
  readonly isElsewhere: (turnId: Ids.TurnId) => boolean
}

/** The default, without a layer: no other process can reach the data, or another mechanism ensures that turns run once. */
export const Tenancy = Context.Reference<TenancyService>("@holdfast/session-orchestrator/storage/Tenancy", {
  defaultValue: () => ({
    newTurnId: TurnIds.make,
    isElsewhere: () => false
  })
})

/**
 * Owns a file for as long as the layer lives; must be built before anything is written to the file (Tenancy.T1).
 *
 * @param url the URL on which the process will listen; a refused process reports it
 */
export const layerOwner = (options: {
  readonly path: string
  readonly url?: string | undefined
}): Layer.Layer<never, StorageError> =>
  options.path === DatabaseFile.MEMORY
    ? Layer.empty
    : Layer.effect(
        Tenancy,
        Effect.gen(function* () {
          const file = yield* fileOf(options.path)
          const left = yield* own(file, options.path, options.url)
          return {
            predecessor: left && describe(left),
            newTurnId: TurnIds.make,
            isElsewhere: (turnId) => isGuestAlive(file, turnId)
          }
        })
      )

/** Holds a guest's lock for as long as the layer lives. */
export const layerGuest = (options: { readonly path: string }): Layer.Layer<never, StorageError> =>
  options.path === DatabaseFile.MEMORY
    ? Layer.empty
    : Layer.effect(
        Tenancy,
        Effect.gen(function* () {
          const file = yield* fileOf(options.path)
          const name = globalThis.crypto.randomUUID().slice(0, GUEST_NAME_LENGTH)
          yield* checkIn(file, options.path, name)
          return {
            newTurnId: () => Ids.TurnId.make(`${GUEST}-${name}-${TurnIds.make()}`),
            // A guest takes up no turns of other processes.
            isElsewhere: () => false
          }
        })
      )

/** The owner of a file, which must exist; `undefined` without an owner. Fails if the lock cannot be read. */
export const ownerOf = (path: string): Effect.Effect<Holder | "unnamed" | undefined, StorageError> =>
  Effect.map(
    locking(path, () => FileLock.holderUnsafe(lockOf(fs.realpathSync(path)))),
    (held) => (held === undefined ? undefined : (readHolder(held.note) ?? "unnamed"))
  )

// --- internal

const GUEST = "run"
const GUEST_NAME_LENGTH = 8
const GUEST_ID = new RegExp(`^${GUEST}-([0-9a-f]{${GUEST_NAME_LENGTH}})-`)

const lockOf = (file: string): string => `${file}.lock`
const guestOf = (file: string, name: string): string => `${file}.${GUEST}-${name}`

/** The file itself, without symbolic links; created if it is missing. */
const fileOf = (path: string): Effect.Effect<string, StorageError> =>
  DatabaseFile.prepare(path).pipe(
    Effect.andThen(DatabaseFile.refuseLinks(path)), // Tenancy.T4
    Effect.andThen(locking(path, () => fs.realpathSync(path)))
  )

const own = Effect.fnUntraced(function* (
  file: string,
  path: string,
  url: string | undefined
): Effect.fn.Return<Holder | undefined, StorageError, Scope.Scope> {
  const lock = lockOf(file)
  const note = yield* noteOf(url)
  const { left } = yield* Effect.acquireRelease(
    Effect.flatMap(
      locking(path, () => FileLock.acquireUnsafe(lock, note)),
      (attempt) =>
        attempt._tag === "Held"
          ? Effect.succeed(attempt)
          : Effect.fail(new StorageError({ message: refusal(path, readHolder(attempt.note)) })) // Tenancy.T1
    ),
    ({ release }) => Effect.sync(release)
  )
  return readHolder(left)
})

const checkIn = Effect.fnUntraced(function* (
  file: string,
  path: string,
  name: string
): Effect.fn.Return<void, StorageError, Scope.Scope> {
  const lock = guestOf(file, name)
  const note = yield* noteOf(undefined)
  yield* Effect.acquireRelease(
    locking(path, () => FileLock.acquireUnsafe(lock, note)),
    (attempt) =>
      Effect.sync(() => {
        if (attempt._tag === "Held") attempt.release()
      })
  )
})

/** Tenancy.T2. The lock of a dead guest is deleted (Tenancy.T3). */
const isGuestAlive = (file: string, turnId: Ids.TurnId): boolean => {
  const name = GUEST_ID.exec(turnId)?.[1]
  if (name === undefined) return false
  const lock = guestOf(file, name)
  try {
    if (FileLock.holderUnsafe(lock) !== undefined) return true
    fs.rmSync(lock, { force: true })
    return false
  } catch {
    // If the lock cannot be read the turn is left alone: running a turn late is better than running it twice.
    return true
  }
}

const noteOf = (url: string | undefined): Effect.Effect<string> =>
  Effect.map(Clock.currentTimeMillis, (since) => {
    const { pid } = process
    const holder: Holder = { id: globalThis.crypto.randomUUID(), pid, hostname: os.hostname(), since }
    return JSON.stringify(url === undefined ? holder : { ...holder, url })
  })

const decodeHolder = Schema.decodeUnknownOption(Schema.fromJsonString(Holder))

const readHolder = (note: string | undefined): Holder | undefined => {
  const decoded = decodeHolder(note)
  return decoded._tag === "Some" ? decoded.value : undefined
}

/** Describes a holder: `process 4711 on mill, at http://127.0.0.1:4747, since 2031-04-01 02:14:05 UTC`. */
export const describe = ({ hostname, pid, since, url }: Holder): string =>
  [
    `process ${pid} on ${hostname}`,
    ...(url === undefined ? [] : [`at ${url}`]),
    `since ${new Date(since).toISOString().slice(0, 19).replace("T", " ")} UTC`
  ].join(", ")

const refusal = (path: string, holder: Holder | undefined): string =>
  `The database ${path} belongs to another Holdfast${holder === undefined ? "" : ` (${describe(holder)})`}, and two would ` +
  `run the same turns. ${holder === undefined ? "Use or stop that one" : `Use that one, or stop it with: kill ${holder.pid}`}; ` +
  "or set database.path to another file. Nothing was changed."

const locking = <A>(path: string, act: () => A): Effect.Effect<A, StorageError> =>
  Effect.try({
    try: act,
    catch: (cause) =>
      new StorageError({
        message:
          `Could not lock the database ${path}: the system said "${cause instanceof Error ? cause.message : String(cause)}". ` +
          "Check that its directory can be written by this user and is on a disk of this machine."
      })
  })
