/**
 * Appends lines to a file in the background and rotates it when it is full.
 *
 * - A failed write is logged once, and once more when the disk works again, with the number of missing lines. Lines that could not be
 *   written are not kept: the log is for people, and the journal has all the facts.
 * - The file in use has the given name; older files have the suffix `.1` (the newest), `.2` …, `keep` of them.
 * - Lines that were added before the scope closes are written if the disk takes them within `LAST_WORDS`.
 *
 * LineFile.F1. Adding a line is one push: it neither waits nor fails. A line beyond `MOST_WAITING` is dropped and counted.
 */
import { Effect, Fiber, FileSystem, Path, type PlatformError, Queue, type Scope } from "effect"
import * as PlatformFailure from "../../../base/system/PlatformFailure.ts"

/** Some megabytes: a disk that hangs must not fill the service's memory. */
export const MOST_WAITING = 10_000

/** How long a shutdown waits for the disk. */
const LAST_WORDS = "2 seconds"

/** The file, its size and the number of older files. */
export interface Options {
  readonly path: string
  /** Bytes. A line that would make the file larger goes into a new file. */
  readonly maxBytes: number
  /** The number of older files. */
  readonly keep: number
}

/** The renames when a file is full, in order. */
export const rotation = (path: string, keep: number): ReadonlyArray<readonly [from: string, to: string]> =>
  Array.from({ length: keep }, (_, i) => keep - i).map((n) => [n === 1 ? path : `${path}.${n - 1}`, `${path}.${n}`])

/** Divides lines over files: those that fit into the current file, and those of each new file. A file has one line at least. */
export const divide = (
  lines: ReadonlyArray<Uint8Array>,
  size: number,
  maxBytes: number
): ReadonlyArray<ReadonlyArray<Uint8Array>> => {
  const files: Array<Array<Uint8Array>> = [[]]
  let current = size
  for (const line of lines) {
    if (current > 0 && current + line.length > maxBytes) {
      files.push([])
      current = 0
    }
    files.at(-1)?.push(line)
    current += line.length
  }
  return files
}

/** Starts the background writer. It opens nothing before the first line. The result takes a line without its line break. */
export const make = Effect.fnUntraced(function* ({
  keep,
  maxBytes,
  path
}: Options): Effect.fn.Return<(line: string) => void, never, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const files = yield* FileSystem.FileSystem
  const directory = (yield* Path.Path).dirname(path)
  const queue = yield* Queue.dropping<string>(MOST_WAITING)
  /** Bytes of the current file; `undefined` if it must be read from the disk. */
  let size: number | undefined
  /** Lines that could not be written. */
  let lost = 0
  let isRefused = false

  const sizeOnDisk = files.stat(path).pipe(
    Effect.map(({ size }) => Number(size)),
    Effect.catchIf(isNotFound, () => Effect.succeed(0))
  )
  const rotate = Effect.forEach(
    rotation(path, keep),
    ([from, to]) => Effect.catchIf(files.rename(from, to), isNotFound, () => Effect.void),
    { discard: true }
  )
  const write = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
    let written = 0
    yield* Effect.gen(function* () {
      if (size === undefined) {
        yield* files.makeDirectory(directory, { recursive: true, mode: 0o700 })
        size = yield* sizeOnDisk
      }
      const encoded = lines.map((line) => encoder.encode(`${line}\n`))
      for (const [i, part] of divide(encoded, size, maxBytes).entries()) {
        if (i > 0) yield* rotate
        yield* files.writeFile(path, Buffer.concat(part), { flag: i > 0 && keep === 0 ? "w" : "a", mode: 0o600 })
        size = (i > 0 ? 0 : size) + part.reduce((sum, { length }) => sum + length, 0)
        written += part.length
      }
      if (lost > 0) yield* Effect.logWarning(`The retry log at ${path} is written again; ${lost} line(s) are missing.`)
      lost = 0
      isRefused = false
    }).pipe(
      Effect.catch((error: PlatformError.PlatformError) => {
        size = undefined
        lost += lines.length - written
        if (isRefused) return Effect.void
        isRefused = true
        return Effect.logError(
          `The retry log at ${path} cannot be written; turns go on without it. ${PlatformFailure.causeOf(error)}`
        )
      })
    )
  })

  const round = Effect.uninterruptibleMask((restore) => Effect.flatMap(restore(Queue.takeAll(queue)), write))
  const writer = yield* Effect.forkDetach(Effect.forever(round))
  yield* Effect.addFinalizer(() =>
    Fiber.interrupt(writer).pipe(
      Effect.andThen(Effect.suspend(() => (Queue.sizeUnsafe(queue) > 0 ? round : Effect.void))),
      Effect.timeoutOption(LAST_WORDS)
    )
  )

  return (line) => {
    if (!Queue.offerUnsafe(queue, line)) lost++
  }
})

// --- internal

const encoder = new TextEncoder()

const isNotFound = ({ reason }: PlatformError.PlatformError): boolean => reason._tag === "NotFound"
