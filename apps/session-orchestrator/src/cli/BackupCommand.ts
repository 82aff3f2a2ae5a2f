/** Runs `holdfast backup FILE`: copies the database while the service runs, and checks the copy. */
import { Count } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import * as CopyProgress from "./terminal/CopyProgress.ts"
import * as Declaration from "./Declaration.ts"
import { ExitCode, Refused } from "./Ended.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** The command `backup`. */
export const command = Setup.command(
  {
    name: "backup",
    does: "Copy the database to a file while the service runs. The copy is checked before it gets its name",
    short: "Copy the database, checked, while the service runs",
    options: {
      file: Declaration.argument("file", "Where to put the copy; an existing file is never overwritten")
    },
    examples: {
      "holdfast backup /backup/holdfast-$(date +%F).db": "A copy of today",
      "holdfast backup --config night.json copy.db": "A copy of another configuration's database"
    }
  },
  Effect.fnUntraced(function* ({ file: to }, { database }, parts) {
    if (database.url !== undefined) {
      return yield* Refused.usage(
        "The data is in PostgreSQL, which has its own tools: use pg_dump, or your provider's backups."
      )
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
      `${to}: ${CopyProgress.size(summary.bytes)}, ${Count.of(summary.conversations, "conversation")} with ` +
        `${Count.of(summary.turns, "turn")}${waiting}. It was read to the end, and is whole.\n`
    )
  }, Effect.provide(Signals.layer))
)
