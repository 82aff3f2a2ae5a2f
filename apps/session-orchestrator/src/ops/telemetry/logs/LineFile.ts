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
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<(line: string) => void, never, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const files = yield* FileSystem.FileSystem
  const directory = (yield* Path.Path).dirname(options.path)
  const queue = yield* Queue.dropping<string>(MOST_WAITING)
  const state: FileState = { size: undefined, lost: 0, isRefused: false }

  const round = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(Queue.takeAll(queue)), (lines) => write(files, directory, options, state, lines))
  )
  const writer = yield* Effect.forkDetach(Effect.forever(round))
  yield* Effect.addFinalizer(() =>
    Fiber.interrupt(writer).pipe(
      Effect.andThen(Effect.suspend(() => (Queue.sizeUnsafe(queue) > 0 ? round : Effect.void))),
      Effect.timeoutOption(LAST_WORDS)
    )
  )

  return (line) => {
    if (!Queue.offerUnsafe(queue, line)) state.lost++
  }
})

// --- internal

interface FileState {
  /** Bytes of the current file; `undefined` if it must be read from the disk. */
  size: number | undefined
  /** Lines that could not be written. */
  lost: number
  isRefused: boolean
}

const encoder = new TextEncoder()

const write = Effect.fnUntraced(function* (
  files: FileSystem.FileSystem,
  directory: string,
  options: Options,
  state: FileState,
  lines: ReadonlyArray<string>
) {
  const { keep, maxBytes, path } = options
  let written = 0
  yield* Effect.gen(function* () {
    if (state.size === undefined) {
      yield* files.makeDirectory(directory, { recursive: true, mode: 0o700 })
      state.size = yield* sizeOf(files, path)
    }
    const encoded = lines.map((line) => encoder.encode(`${line}\n`))
    const [first = [], ...rest] = divide(encoded, state.size, maxBytes)
    for (const [i, part] of [first, ...rest].entries()) {
      if (i > 0) yield* rotate(files, path, keep)
      if (part.length === 0) continue
      yield* files.writeFile(path, concat(part), { flag: i > 0 && keep === 0 ? "w" : "a", mode: 0o600 })
      state.size = (i > 0 ? 0 : state.size) + part.reduce((sum, { length }) => sum + length, 0)
      written += part.length
    }
    const { lost } = state
    if (lost > 0) yield* Effect.logWarning(`The retry log at ${path} is written again; ${lost} line(s) are missing.`)
    state.lost = 0
    state.isRefused = false
  }).pipe(
    Effect.catch((error: PlatformError.PlatformError) => {
      state.size = undefined
      state.lost += lines.length - written
      if (state.isRefused) return Effect.void
      state.isRefused = true
      return Effect.logError(
        `The retry log at ${path} cannot be written; turns go on without it. ${PlatformFailure.causeOf(error)}`
      )
    })
  )
})

const rotate = Effect.fnUntraced(function* (files: FileSystem.FileSystem, path: string, keep: number) {
  for (const [from, to] of rotation(path, keep)) {
    yield* Effect.catchIf(files.rename(from, to), isNotFound, () => Effect.void)
  }
})

const sizeOf = (files: FileSystem.FileSystem, path: string): Effect.Effect<number, PlatformError.PlatformError> =>
  files.stat(path).pipe(
    Effect.map(({ size }) => Number(size)),
    Effect.catchIf(isNotFound, () => Effect.succeed(0))
  )

const isNotFound = ({ reason }: PlatformError.PlatformError): boolean => reason._tag === "NotFound"

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Buffer.concat(parts)
