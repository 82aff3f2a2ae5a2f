/** Runs `holdfast turns`: lists turns from the database, with a service running or without. */
import { Clock, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { Secrets } from "../../redaction/Secrets.ts"
import { Inspection, type Service } from "../../inspection/Inspection.ts"
import type { TurnReport } from "../../inspection/TurnReport.ts"
import * as LocalTime from "../../text/LocalTime.ts"
import * as Prose from "../../text/Prose.ts"
import { Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as Setup from "../Setup.ts"
import * as Since from "../Since.ts"
import { paint, Terminal } from "../terminal/Terminal.ts"
import * as TurnsTable from "./TurnsTable.ts"

/** The command `turns`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "turns",
    {
      config: Setup.configFlag,
      json: Setup.switchFlag("json", "Print one JSON object a line; times in milliseconds"),
      all: Setup.switchFlag("all", "Print ended turns too").pipe(Flag.withAlias("a")),
      failed: Setup.switchFlag("failed", "Print failed turns only"),
      since: Setup.textFlag(
        "since",
        "MOMENT",
        `Print turns accepted or ended since then, ended ones too: ${Since.EXPECTED}`
      ),
      model: Setup.textFlag("model", "PROVIDER/MODEL", "Print turns of this model, or of this provider"),
      limit: Flag.Int("limit").pipe(
        Flag.withMetavar("N"),
        Flag.withDescription("Print the newest N of these turns"),
        Flag.optional
      )
    },
    ({ all, config: file, failed, json, limit, model, since }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(file) }, () =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const filter = yield* filterOf({ failed, limit, model, since }, now)
          yield* Effect.provide(print({ all, filter, json, now }), parts.inspection)
        })
      )
  ).pipe(
    Command.withDescription("Print running and waiting turns, until when and why, with a service running or without"),
    Command.withShortDescription("Print running and waiting turns, until when and why"),
    Command.withExamples([
      { command: "holdfast turns", description: "Turns that have not ended" },
      { command: "holdfast turns --all", description: "All of them" },
      { command: "holdfast turns --failed --since 22:00", description: "What failed in the night" },
      {
        command: "holdfast turns --json | jq 'select(.state == \"waiting\") | .error.reason'",
        description: "For programs"
      }
    ])
  )

/** The conditions; a turn must meet all of them. */
export interface Filter {
  readonly failed: boolean
  /** The turn was accepted or ended since then, or has not ended; epoch milliseconds. */
  readonly since: number | undefined
  /** `provider/model`, or a provider. */
  readonly model: string | undefined
  /** The number of turns at most; the newest are kept. */
  readonly limit: number | undefined
}

/** The turns that meet the conditions, in their order. */
export const filtered = (turns: ReadonlyArray<TurnReport>, filter: Filter): ReadonlyArray<TurnReport> => {
  const passing = turns.filter((turn) => passes(turn, filter))
  return filter.limit === undefined ? passing : passing.slice(-filter.limit)
}

// --- internal

const print = Effect.fnUntraced(function* ({
  all,
  filter,
  json,
  now
}: {
  readonly all: boolean
  readonly filter: Filter
  readonly json: boolean
  readonly now: number
}) {
  const inspection = yield* Inspection
  const terminal = yield* Terminal
  const { redact } = yield* Secrets
  const turns = filtered(yield* inspection.turns({ all: all || filter.failed || filter.since !== undefined }), filter)
  if (json) {
    for (const turn of turns) terminal.stdout(`${Prose.inJson(redact(JSON.stringify(turn)))}\n`)
    return
  }
  const { database } = inspection
  const isChosen = all || Object.values(filter).some((value) => value !== undefined && value !== false)
  terminal.stdout(`${redact(lines(turns, terminal, { now, database, isChosen }).join("\n"))}\n`)
  const note = noteOf(turns, yield* inspection.service)
  if (note !== undefined) terminal.stderr(`${paint(terminal.colors.stderr, "yellow", note)}\n`)
})

const filterOf = Effect.fnUntraced(function* (
  flags: {
    readonly failed: boolean
    readonly limit: Option.Option<number>
    readonly model: Option.Option<string>
    readonly since: Option.Option<string>
  },
  now: number
): Effect.fn.Return<Filter, Refused> {
  const since = Option.isNone(flags.since) ? undefined : yield* Since.orRefused(flags.since.value, now)
  const limit = Option.getOrUndefined(flags.limit)
  if (limit !== undefined && limit < 1) {
    return yield* refused(`--limit: found ${limit}; expected a whole number from 1 on.`)
  }
  return { failed: flags.failed, since, limit, model: Option.getOrUndefined(flags.model) }
})

const refused = (message: string) => Effect.fail(new Refused({ message, exitCode: ExitCode.USAGE }))

const lines = (
  turns: ReadonlyArray<TurnReport>,
  terminal: Terminal["Service"],
  { now, ...shown }: Pick<TurnsTable.Display, "database" | "isChosen"> & { readonly now: number }
): ReadonlyArray<string> =>
  TurnsTable.view(turns, {
    ...shown,
    // A file or a pipe has no limit of width.
    columns: terminal.isStdoutTerminal ? terminal.columns() : Number.POSITIVE_INFINITY,
    moment: LocalTime.toSeconds(now),
    paint: (color, text) => paint(terminal.colors.stdout, color, text)
  })

/** A note that no service will run the open turns. */
const noteOf = (turns: ReadonlyArray<TurnReport>, service: Service): string | undefined => {
  const isOpen = turns.some(({ state }) => state === "waiting" || state === "running" || state === "queued")
  return isOpen && service._tag === "None"
    ? "No service runs on this database: its turns continue when `holdfast serve` is started."
    : undefined
}

const passes = ({ acceptedAt, endedAt, model, state }: TurnReport, filter: Filter): boolean =>
  (!filter.failed || state === "failed") &&
  (filter.since === undefined || endedAt === undefined || Math.max(acceptedAt, endedAt) >= filter.since) &&
  (filter.model === undefined || model === filter.model || model.startsWith(`${filter.model}/`))
