/**
 * Keeps incidents and undelivered notices over a restart, in a small JSON file.
 *
 * The file is replaced as a whole, by a rename, so a reader finds the old one or the new one. A file that cannot be read counts as no
 * file: an outage that lasts is detected again.
 */
import { Effect, FileSystem, Path, type PlatformError, Schema, Semaphore } from "effect"
import * as Causes from "./Causes.ts"
import * as Incidents from "./Incidents.ts"
import { Notice } from "./Notice.ts"

/** Where a notice is delivered. */
export const Receiver = Schema.Literals(["webhook", "command"])
export type Receiver = typeof Receiver.Type

/** A notice that is not delivered to a receiver yet. */
export const Outgoing = Schema.Struct({ to: Receiver, notice: Notice })
export type Outgoing = typeof Outgoing.Type

const Content = Schema.Struct({
  version: Schema.Literal(1),
  troubles: Schema.Array(Incidents.Kept),
  /** Absent in the file of an older version. */
  causes: Schema.Array(Causes.Cause).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  outgoing: Schema.Array(Outgoing)
})
export type Content = typeof Content.Type

/** The content of a new file. */
export const EMPTY: Content = { version: 1, troubles: [], causes: [], outgoing: [] }

/** Reads and replaces the file. Neither fails a start. */
export interface IncidentFile {
  readonly read: Effect.Effect<Content>
  readonly write: (content: Content) => Effect.Effect<void, PlatformError.PlatformError>
}

/** Keeps nothing over a restart. */
export const none: IncidentFile = { read: Effect.succeed(EMPTY), write: () => Effect.void }

/** The file at a path. `write` creates its folder, readable by this user alone. */
export const make = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<IncidentFile, never, FileSystem.FileSystem | Path.Path> {
  const files = yield* FileSystem.FileSystem
  const directory = (yield* Path.Path).dirname(path)
  return {
    read: files.readFileString(path).pipe(
      Effect.flatMap((text) => Effect.fromOption(decode(text))),
      Effect.catch((error) =>
        error._tag === "PlatformError" && error.reason._tag === "NotFound"
          ? Effect.succeed(EMPTY)
          : Effect.as(Effect.logWarning(`Incidents before this start are unknown: ${path} cannot be read.`), EMPTY)
      )
    ),
    write: (content) =>
      Effect.gen(function* () {
        yield* files.makeDirectory(directory, { recursive: true, mode: 0o700 })
        yield* files.writeFileString(`${path}.new`, encode(content), { mode: 0o600 })
        yield* files.rename(`${path}.new`, path)
      })
  }
})

/** Saves a content that changes often. */
export interface Saver {
  /** Records that the content has changed. */
  readonly changed: () => void
  /** Writes the content if it has changed. A failed write is logged once, and repeated with the next call. */
  readonly save: Effect.Effect<void>
}

/** The saver of a file; `content` returns the present content. */
export const saver = (file: IncidentFile, content: () => Omit<Content, "version">): Saver => {
  const writing = Semaphore.makeUnsafe(1)
  let isSaved = true
  let isRefused = false
  const save = Effect.suspend(() => {
    if (isSaved) return Effect.void
    isSaved = true
    return file.write({ version: 1, ...content() })
  }).pipe(
    Effect.tap(() => Effect.sync(() => (isRefused = false))),
    Effect.catch(({ message }) => {
      isSaved = false
      if (isRefused) return Effect.void
      isRefused = true
      return Effect.logError(`Incidents are not kept over a restart for now. ${message}`)
    }),
    writing.withPermits(1)
  )
  return { changed: () => void (isSaved = false), save }
}

// --- internal

const codec = Schema.fromJsonString(Content)
const decode = Schema.decodeUnknownOption(codec)
const encode = Schema.encodeSync(codec)
