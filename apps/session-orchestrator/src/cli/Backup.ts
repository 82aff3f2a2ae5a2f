/** `holdfast backup FILE`: a copy of the database, made while the service works on it, and checked. */
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import { Terminal } from "./Terminal.ts"

export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "backup",
    {
      file: Argument.String("file").pipe(
        Argument.withDescription("Where to put the copy; what is there already is never overwritten")
      ),
      config: Setup.configFlag
    },
    ({ config: file, file: to }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(file) }, ({ database }) =>
        Effect.gen(function* () {
          if (database.url !== undefined) {
            return yield* new Refused({
              message:
                "The data is in PostgreSQL, which has tools of its own: use pg_dump, or your provider's backups.",
              exitCode: ExitCode.USAGE
            })
          }
          const { path } = database
          const terminal = yield* Terminal
          const signals = yield* Signals.Signals
          const backup = yield* parts.backup
          const progress = makeProgress(terminal)
          const interrupted = Effect.andThen(
            signals.first,
            Effect.fail(new Refused({ message: "Stopped. Nothing was kept of it.", exitCode: ExitCode.ABORTED }))
          )
          const summary = yield* backup(path, to, progress.show).pipe(
            Effect.raceFirst(interrupted),
            Effect.ensuring(Effect.sync(progress.close))
          )
          const waiting = summary.unsealed === 0 ? "" : ` (${summary.unsealed} unfinished)`
          terminal.stdout(
            `${to}: ${size(summary.bytes)}, ${counted(summary.conversations, "conversation")} with ` +
              `${counted(summary.turns, "turn")}${waiting}. It was read to the end, and is whole.\n`
          )
        }).pipe(Effect.provide(Signals.layer))
      )
  ).pipe(
    Command.withDescription(
      "Copy the database to a file, while the service works on it. The copy is checked before it gets its name"
    ),
    Command.withShortDescription("Copy the database, checked, while the service works on it"),
    Command.withExamples([
      { command: "holdfast backup /backup/holdfast-$(date +%F).db", description: "A copy of today" },
      {
        command: "holdfast backup --config night.json copy.db",
        description: "Of the database of another configuration"
      }
    ])
  )

/** Bytes for people: `12.3 MiB`. */
export const size = (bytes: number): string => {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`
}

// --- internal

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const

/** A copy below this is there before anybody has read how far it is. */
const WORTH_TELLING = 64 * 1024 * 1024

const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`

/** How far it is: one line that changes on a terminal, and a line each tenth elsewhere. */
const makeProgress = (terminal: Terminal["Service"]) => {
  let shown = ""
  return {
    show: ({ copiedBytes, totalBytes }: { readonly copiedBytes: number; readonly totalBytes: number }): void => {
      if (totalBytes < WORTH_TELLING) return
      const percent = Math.floor((copiedBytes / totalBytes) * 100)
      const step = terminal.canRepaint ? percent : percent - (percent % 10)
      const line = percent === 100 ? `Checking ${size(totalBytes)}` : `Copied ${step} % of ${size(totalBytes)}`
      if (line === shown) return
      terminal.stderr(terminal.canRepaint ? `\r\u001b[K${line}` : `${line}\n`)
      shown = line
    },
    close: (): void => {
      if (shown !== "" && terminal.canRepaint) terminal.stderr("\r\u001b[K")
    }
  }
}
