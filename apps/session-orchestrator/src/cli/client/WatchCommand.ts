/**
 * Runs `holdfast status-line` and `holdfast watch`: shows in a terminal what waits and how much of each limit is used.
 *
 * Claude Code runs a command for its status line again and again: without a service the line is empty, and there is no error.
 */
import { type Health, HeldCall, type TurnState } from "@holdfast/wire"
import { Effect, Option, Stream } from "effect"
import * as EndpointReports from "../../insight/inspection/endpoints/EndpointReports.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as Declaration from "../Declaration.ts"
import * as Setup from "../Setup.ts"
import * as Signals from "../Signals.ts"
import { Terminal } from "../terminal/Terminal.ts"
import * as WithCommand from "../WithCommand.ts"
import * as RunningService from "./RunningService.ts"

/** The command `holdfast status-line`. */
export const statusLine = Declaration.command(
  {
    name: "status-line",
    does: "Print one line for the status line of an agent: calls that wait, until when, and the limits that are used most",
    short: "One line for an agent's status line",
    options: {},
    examples: { "holdfast status-line": 'In settings.json: "statusLine": { "type": "command", … }' }
  },
  Effect.fnUntraced(function* (_given, shared, parts) {
    const { stdout } = yield* Terminal
    const line = Setup.withConfig(
      parts,
      shared,
      Effect.fnUntraced(function* ({ server }) {
        const address = yield* RunningService.addressOf(shared.url, parts.environment, server)
        return lineOf(yield* read(yield* RunningService.connect(address, { retryForMs: 0 })))
      }, Effect.scoped)
    )
    const found = yield* Effect.timeoutOption(Effect.option(line), WITHIN)
    stdout(`${Option.getOrElse(Option.flatten(found), () => "")}\n`)
  }),
  RunningService.flags
)

/** The command `holdfast watch`. */
export const watch = RunningService.command(
  {
    name: "watch",
    does: "One screen until Ctrl-C: the last twelve hours, what waits, the endpoints with their gates, and the limits",
    short: "What waits, on one screen",
    options: {},
    examples: { "holdfast watch": "Beside the agents that run" }
  },
  Effect.fnUntraced(function* (_given, client) {
    const terminal = yield* Terminal
    const line = yield* Effect.cachedWithTTL(
      Effect.map(client.report(), ({ line }) => line),
      REPORT_EVERY
    )
    const shown = Effect.map(Effect.all([read(client), line]), ([seen, night]) => {
      const lines = screenOf(seen, night).flatMap((line) =>
        line === "" ? [""] : Prose.wrap(line, terminal.columns(), 2)
      )
      terminal.stdout(`${terminal.canRepaint ? REPAINT : ""}${lines.join("\n")}\n`)
    })
    if (!terminal.canRepaint) return yield* shown
    const signals = yield* Signals.Signals
    const repeated = Effect.forever(Effect.andThen(shown, Effect.sleep(LOOK_EVERY)))
    yield* Effect.raceFirst(repeated, Effect.asVoid(signals.first))
  }, Effect.provide(Signals.layer))
)

/** What is shown. */
interface Seen {
  readonly turns: ReadonlyArray<TurnState.TurnSummary>
  readonly health: Health.Health
}

/** The line: what waits, and the windows that are used most. */
export const lineOf = ({ health: { at, windows }, turns }: Seen): string => {
  const held = turns.filter(({ conversationId }) => HeldCall.isHeld(conversationId))
  const limits = windows
    .filter(({ used }) => used >= WORTH)
    .slice(0, MOST_WINDOWS)
    .map(
      ({ name, provider, resetAt, used }) =>
        `${provider} ${name} ${Math.floor(used * 100)} %${resetAt === undefined ? "" : `, begins anew ${LocalTime.toSeconds(at)(resetAt)}`}`
    )
  return [WithCommand.titleOf(held, at) ?? "Holdfast", ...limits].join("; ")
}

/** The screen: the line, the last hours as a report has them in one line, what waits one by one, and the endpoints with their limits. */
export const screenOf = (seen: Seen, night: string): ReadonlyArray<string> => {
  const { health, turns } = seen
  const moment = LocalTime.toSeconds(health.at)
  return [
    lineOf(seen),
    "",
    `In the last 12 hours: ${night}`,
    "",
    ...turns.map(({ conversationId, error, model, prompt = "", turnId, wait }) => {
      const { asks, retryAt = health.at } = wait ?? {}
      const next =
        HeldCall.dueWords(conversationId, retryAt - health.at) ??
        (asks === undefined ? `next ${moment(retryAt)}` : "asks you")
      return Prose.oneLine(`${turnId} ${model} ${error?.reason ?? "waiting"}, ${next} ${Prose.clip(prompt, 60)}`)
    }),
    ...(turns.length === 0 ? [] : [""]),
    ...EndpointReports.lines(health, moment)
  ]
}

// --- internal

const read = (client: RunningService.ServiceClient) =>
  Effect.map(
    Effect.all([Stream.runCollect(Stream.take(client.listTurns({ status: "waiting" }), MOST_SHOWN)), client.health]),
    ([turns, health]): Seen => ({ turns: Array.from(turns), health })
  )

/** A status line that comes later is no more looked at. */
const WITHIN = "2 seconds"

const LOOK_EVERY = "2 seconds"

/** A report reads all turns of twelve hours. */
const REPORT_EVERY = "1 minute"

const MOST_SHOWN = 100

/** A limit of which less is used is no news. */
const WORTH = 0.5
const MOST_WINDOWS = 2

/** To the upper left corner, and clears what follows. */
const REPAINT = "\u001b[H\u001b[J"
