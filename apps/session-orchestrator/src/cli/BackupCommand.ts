/** Runs `holdfast backup FILE`: copies the database while the service runs, and checks the copy. */
import { Count } from "@holdfast/wire"
import { ByteSize, Clock, Effect } from "effect"
import type { Progress } from "../storage/sqlite/Backup.ts"
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
    const progress = progressOn(terminal, clock.currentTimeMillisUnsafe())
    const interrupted = Effect.andThen(
      signals.first,
      Effect.fail(new Refused({ message: "Stopped. No copy was kept.", exitCode: ExitCode.ABORTED }))
    )
    const summary = yield* Effect.raceFirst(
      backup(path, to, (at) => progress(at, clock.currentTimeMillisUnsafe())),
      interrupted
    )
    const waiting = summary.unsealed === 0 ? "" : ` (${summary.unsealed} unfinished)`
    terminal.stdout(
      `${to}: ${size(summary.bytes)}, ${Count.of(summary.conversations, "conversation")} with ` +
        `${Count.of(summary.turns, "turn")}${waiting}. It was read to the end, and is whole.\n`
    )
  }, Effect.provide(Signals.layer))
)

// --- internal

/** Bytes. A smaller copy takes less than a second, unless the disk is slow. */
const WORTH_SHOWING = 64 * 1024 * 1024
const PATIENCE_MS = 2_000

/** Writes a line for each tenth of a copy that began at `begunAt`, in epoch milliseconds. */
const progressOn = ({ stderr }: Terminal["Service"], begunAt: number) => {
  let written = ""
  return ({ copiedBytes, totalBytes }: Progress, now: number): void => {
    if (totalBytes < WORTH_SHOWING && now - begunAt < PATIENCE_MS) return
    const tenths = Math.floor((copiedBytes / totalBytes) * 10)
    const line = tenths < 10 ? `Copied ${tenths * 10} % of ${size(totalBytes)}` : `Checking ${size(totalBytes)}`
    if (line !== written) stderr(`${line}\n`)
    written = line
  }
}

/** A number of bytes for people: `12.3 MiB`. */
const size = (bytes: number): string => ByteSize.format(ByteSize.bytes(bytes), { precision: 1, trailingZeros: true })
