/**
 * How this process stands to the SQLite file that it works on: as its owner, or as a guest beside one.
 *
 * The owner (`serve`) runs every turn in the file that nobody else runs. A guest (`run`) runs turns of its own and no others.
 *
 * T1. A file has one owner. A second is refused, and told who the first is and what to do.
 * T2. A guest can come and go at any time, and an owner can start beside it: a guest's turn carries the guest's name in its id
 *     from the moment of its acceptance, and is nobody else's while that guest lives.
 * T3. Whoever dies, of `kill -9` too, holds nothing any more: an owner's file can be owned, and a guest's turns are taken up
 *     by the next start of an owner.
 * T4. A file with a second name (a hard link) is refused: its lock, and SQLite's log, would be found under one of the names alone.
 *
 * Both are locks beside the database (`FileLock`), which are there as long as they are held, and after a `kill -9`:
 * `FILE.lock` is the owner's, `FILE.run-NAME` a guest's.
 */
import { Ids } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Schema, type Scope } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as DatabaseFile from "./DatabaseFile.ts"
import * as FileLock from "./FileLock.ts"
import { StorageError } from "../Store.ts"
import * as TurnIds from "../TurnIds.ts"

/** Who has a file; what its lock says. */
export const Holder = Schema.Struct({
  /** Differs from every other holder's. */
  id: Schema.String,
  pid: Schema.Int,
  hostname: Schema.String,
  /** Epoch milliseconds. */
  since: Schema.Finite,
  /** Where it listens, when that was known beforehand. */
  url: Schema.optionalKey(Schema.String)
})
export type Holder = typeof Holder.Type

export interface TenancyService {
  /** The process that owned the file before and died, in words; absent where it ended in order. */
  readonly predecessor?: string | undefined
  /** A new turn's id, by which its runner is known (T2). */
  readonly newTurnId: () => Ids.TurnId
  /** Whether a turn that is not sealed is run by another process that lives. */
  readonly isElsewhere: (turnId: Ids.TurnId) => boolean
}

/** Without a layer: nobody else can reach the data, or others see to it that turns are run once. */
export const Tenancy = Context.Reference<TenancyService>("@holdfast/session-orchestrator/storage/Tenancy", {
  defaultValue: () => ({
    newTurnId: TurnIds.make,
    isElsewhere: () => false
  })
})

/**
 * Owns a file for as long as the layer lives; must be built before anything is written there (T1).
 *
 * @param url where the process is going to listen, for those who are refused
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

/** A guest's stay. */
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
            // A guest takes up no turns of others, so it has no reason to ask.
            isElsewhere: () => false
          }
        })
      )

/** Who owns a file, which must exist; `undefined` when nobody does. Fails where that cannot be found out. */
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

/** The file itself, whatever symbolic links lead to it; made where it is missing. */
const fileOf = (path: string): Effect.Effect<string, StorageError> =>
  DatabaseFile.prepare(path).pipe(
    Effect.andThen(DatabaseFile.refuseLinks(path)), // T4
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
          : Effect.fail(new StorageError({ message: refusal(path, readHolder(attempt.note)) })) // T1
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

/** T2. What a dead guest left is cleared away (T3). */
const isGuestAlive = (file: string, turnId: Ids.TurnId): boolean => {
  const name = GUEST_ID.exec(turnId)?.[1]
  if (name === undefined) return false
  const lock = guestOf(file, name)
  try {
    if (FileLock.holderUnsafe(lock) !== undefined) return true
    fs.rmSync(lock, { force: true })
    return false
  } catch {
    // Who cannot tell leaves it alone: a turn that is run late is better than one that is run twice.
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

/** Who has it, in words: `process 4711 on mill, at http://127.0.0.1:4747, since 2031-04-01 02:14:05 UTC`. */
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
