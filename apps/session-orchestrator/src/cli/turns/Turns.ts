/** Runs `holdfast turns`: lists turns from the database, or from a service that is named. */
import { defined, TurnEvent } from "@holdfast/wire"
import { Clock, Effect, Stream } from "effect"
import { Flag } from "effect/cli"
import { Secrets } from "../../config/redaction/Secrets.ts"
import { Inspection } from "../../insight/inspection/Inspection.ts"
import * as TurnReport from "../../insight/inspection/TurnReport.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as RunningService from "../client/RunningService.ts"
import * as Declaration from "../Declaration.ts"
import * as Since from "../Since.ts"
import { note, paint, Terminal } from "../terminal/Terminal.ts"
import * as TurnsTable from "./TurnsTable.ts"

/** The conditions; a turn must meet all of them. */
const filters = {
  failed: Declaration.toggle("failed", "Print failed turns only"),
  since: Since.flag("Print turns accepted or ended since then, ended ones too"),
  model: Declaration.text("model", "PROVIDER/MODEL", "Print turns of this model, or of this provider"),
  limit: Declaration.orUndefined(Declaration.whole("limit", "Print the newest N of these turns", 1))
}

/** The command `turns`. */
export const command = RunningService.reading(
  {
    name: "turns",
    does: "Print running and waiting turns, until when and why, with a service running or without",
    short: "Print running and waiting turns, until when and why",
    options: {
      json: Declaration.toggle("json", "Print one JSON object a line; times in milliseconds"),
      all: Declaration.toggle("all", "Print ended turns too").pipe(Flag.withAlias("a")),
      ...filters
    },
    examples: {
      "holdfast turns": "Turns that have not ended",
      "holdfast turns --all": "All of them",
      "holdfast turns --failed --since 22:00": "What failed in the night",
      "holdfast turns --json | jq 'select(.state == \"waiting\") | .error.reason'": "For programs"
    }
  },
  Effect.fnUntraced(function* ({ all, json, ...filter }, read) {
    const terminal = yield* Terminal
    const { redact } = yield* Secrets
    const now = yield* Clock.currentTimeMillis
    const isAll = all || filter.failed || filter.since !== undefined
    const { database, isUnserved, turns } = yield* read(
      (client, { url }) => listed(client, url, filter, isAll, now),
      stored(isAll)
    )
    const chosen = turns.filter((turn) => passes(turn, filter)).slice(-(filter.limit ?? Infinity))
    if (json) {
      for (const turn of chosen) terminal.stdout(`${Prose.inJson(redact(JSON.stringify(turn)))}\n`)
      return
    }
    const lines = TurnsTable.view(chosen, {
      database,
      isChosen: all || Object.values(filter).some(Boolean),
      // A file or a pipe has no limit of width.
      columns: terminal.isStdoutTerminal ? terminal.columns() : Number.POSITIVE_INFINITY,
      moment: LocalTime.toSeconds(now),
      paint: (color, text) => paint(terminal.colors.stdout, color, text)
    })
    terminal.stdout(`${redact(lines.join("\n"))}\n`)
    if (isUnserved && chosen.some(({ state }) => OPEN.some((open) => open === state))) {
      note(terminal, "yellow", "No service runs on this database: its turns continue when `holdfast serve` is started.")
    }
  })
)

// --- internal

type TurnsFilter = Declaration.Given<typeof filters>

/** Turns in the order of acceptance, where they are from, and whether no service runs them. */
const stored = Effect.fnUntraced(function* (all: boolean) {
  const { database, isUnserved, turns } = yield* Inspection
  return { database, turns: yield* turns({ all }), isUnserved: yield* isUnserved }
})

/** The same of a service. */
const listed = (
  { listTurns }: RunningService.ServiceClient,
  database: string,
  { failed, model, since }: TurnsFilter,
  isAll: boolean,
  now: number
) => {
  const ended = failed ? ["failed" as const] : isAll ? TurnEvent.TurnStatus.literals : []
  const lists = [
    ...(failed ? [] : OPEN).map((status) => listTurns(defined({ status, model }))),
    ...ended.map((status) => listTurns(defined({ status, model, since })))
  ]
  return Effect.map(Effect.forEach(lists, Stream.runCollect), (lists) => ({
    database,
    turns: lists
      .flatMap((turns) => Array.from(turns, (turn) => TurnReport.of(turn, now)))
      .toSorted((a, b) => a.acceptedAt - b.acceptedAt),
    isUnserved: false
  }))
}

const OPEN = ["waiting", "running", "queued"] as const

const passes = ({ acceptedAt, endedAt, model, state }: TurnReport.TurnReport, filter: TurnsFilter): boolean =>
  (!filter.failed || state === "failed") &&
  (filter.since === undefined || endedAt === undefined || Math.max(acceptedAt, endedAt) >= filter.since) &&
  (filter.model === undefined || model === filter.model || model.startsWith(`${filter.model}/`))
