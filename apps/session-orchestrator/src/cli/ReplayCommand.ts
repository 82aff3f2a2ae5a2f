/**
 * `holdfast dry-run --replay SINCE`: runs the recorded turns of a database again under a configuration (X10).
 *
 * The database is only read, with a service running or without.
 */
import { Count, type Target } from "@holdfast/wire"
import type { Option } from "effect"
import { Clock, Effect } from "effect"
import type { Values } from "../config/Config.ts"
import * as DryRunText from "../dry-run/DryRunText.ts"
import type * as Outages from "../dry-run/Outages.ts"
import * as Picture from "../dry-run/Picture.ts"
import * as Replay from "../dry-run/Replay.ts"
import type * as Trial from "../dry-run/Trial.ts"
import { Inspection } from "../inspection/Inspection.ts"
import * as LocalTime from "../text/LocalTime.ts"
import * as PictureFile from "./PictureFile.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** What is replayed, and how. */
export interface Options {
  /** Epoch milliseconds. */
  readonly since: number
  readonly configured: ReadonlyArray<{ readonly name: string; readonly config: Values }>
  readonly outages: Outages.Outages
  readonly model: Target.Target | undefined
  readonly forMs: number
  readonly mostCalls: number
  readonly json: boolean
  readonly svg: Option.Option<string>
}

/** Replays and prints. */
export const run = Effect.fnUntraced(function* (options: Options) {
  const { configured, json, model, since, svg, ...how } = options
  const terminal = yield* Terminal
  const inspection = yield* Inspection
  const readAt = yield* Clock.currentTimeMillis
  const recording = yield* inspection.recording(since)
  const moment = LocalTime.toSeconds(readAt)
  if (recording.turns.length === 0)
    return terminal.stdout(`No turn was accepted or ended since ${moment(since)}, and none is open.\n`)
  const named = configured.map((one) => ({ ...one, model }))
  const { assumptions, replayed, was } = yield* Replay.run(named, { ...how, recording, readAt })
  const trials = replayed.map(({ trial }) => trial)
  const title = `${Count.of(recording.turns.length, "turn")} since ${moment(since)}, replayed by ${trials.map(({ name }) => name).join(" beside ")}`
  yield* PictureFile.write(svg, () =>
    Picture.svg(title, assumptions.join(" "), [was, ...trials], (ms) => DryRunText.timeOfDay(was.result.startAt + ms))
  )
  if (json) {
    const of = ({ name, report, result }: Trial.Trial) => ({ name, report, turns: result.turns })
    const runs = replayed.map(({ followed, trial }) => ({ ...of(trial), followed }))
    return terminal.stdout(`${JSON.stringify({ since, assumptions, was: of(was), runs })}\n`)
  }
  const lines = [
    title,
    ...replayed.map(({ followed, trial }) => DryRunText.followed(trial.name, followed)),
    "",
    ...DryRunText.table([was, ...trials]),
    ...trials.flatMap((trial) => DryRunText.changes(was, trial, moment)),
    "",
    "Assumed:",
    ...assumptions.map((assumption) => `- ${assumption}`)
  ]
  terminal.stdout(`${lines.join("\n")}\n`)
})
