/** Runs `holdfast backup FILE`: copies the database while the service runs, and checks the copy. */
import { Clock, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import * as CopyProgress from "./terminal/CopyProgress.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** The command `backup`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "backup",
    {
      file: Argument.String("file").pipe(
        Argument.withDescription("Where to put the copy; an existing file is never overwritten")
      ),
      config: Setup.configFlag
    },
    ({ config: file, file: to }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(file) }, ({ database }) =>
        Effect.gen(function* () {
          if (database.url !== undefined) {
            return yield* new Refused({
              message: "The data is in PostgreSQL, which has its own tools: use pg_dump, or your provider's backups.",
              exitCode: ExitCode.USAGE
            })
          }
          const { path } = database
          const terminal = yield* Terminal
          const signals = yield* Signals.Signals
          const backup = yield* parts.backup
          const clock = yield* Clock.Clock
          const progress = CopyProgress.make(terminal, clock.currentTimeMillisUnsafe())
          const interrupted = Effect.andThen(
            signals.first,
            Effect.fail(new Refused({ message: "Stopped. No copy was kept.", exitCode: ExitCode.ABORTED }))
          )
          const summary = yield* backup(path, to, (at) => progress.show(at, clock.currentTimeMillisUnsafe())).pipe(
            Effect.raceFirst(interrupted),
            Effect.ensuring(Effect.sync(progress.close))
          )
          const waiting = summary.unsealed === 0 ? "" : ` (${summary.unsealed} unfinished)`
          terminal.stdout(
            `${to}: ${CopyProgress.size(summary.bytes)}, ${counted(summary.conversations, "conversation")} with ` +
              `${counted(summary.turns, "turn")}${waiting}. It was read to the end, and is whole.\n`
          )
        }).pipe(Effect.provide(Signals.layer))
      )
  ).pipe(
    Command.withDescription(
      "Copy the database to a file while the service runs. The copy is checked before it gets its name"
    ),
    Command.withShortDescription("Copy the database, checked, while the service runs"),
    Command.withExamples([
      { command: "holdfast backup /backup/holdfast-$(date +%F).db", description: "A copy of today" },
      {
        command: "holdfast backup --config night.json copy.db",
        description: "A copy of another configuration's database"
      }
    ])
  )

// --- internal

const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`
