/**
 * `holdfast retry`, `retry-now`, `wait-until`, `give-up` and `switch`: one command for all turns of the running service that a filter names. And
 * `raise-limit`, for all that ask about a limit of spending.
 *
 * Each turn is printed with what became of it. The command continues page by page until the filter names no more turns. A filter is
 * required; `--dry-run` prints the turns and does nothing.
 */
import type { BulkCommands } from "@holdfast/wire/api"
import { defined } from "@holdfast/wire"
import { Clock, Effect, Stream } from "effect"
import { Argument, Flag } from "effect/cli"
import * as SpendLimits from "../../config/limits/SpendLimits.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as Declaration from "../Declaration.ts"
import { Ended, ExitCode, Refused } from "../Ended.ts"
import { note, Terminal, writeJson } from "../terminal/Terminal.ts"
import * as Since from "../Since.ts"
import * as Filter from "./Filter.ts"
import * as RunningService from "./RunningService.ts"

const options = {
  ...Filter.ofTurns,
  dryRun: Declaration.toggle("dry-run", "Print the turns, and do nothing"),
  json: Declaration.toggle("json", "Print one JSON object a line")
}

/** Declares a command that needs nothing but a filter. */
const all = (
  command: BulkCommands.BulkCommand,
  declaration: Omit<Declaration.Declaration<typeof options>, "options">
) => RunningService.command({ ...declaration, options }, (given, client) => run(client, given, command))

/** The command `holdfast retry`. */
export const retry = all(
  { type: "retry" },
  {
    name: "retry",
    does: "Run the model again for all turns that have failed, as far as they are the newest of their conversation",
    short: "Retry all turns that have failed",
    examples: {
      "holdfast retry --since 22:00": "What failed in the night",
      "holdfast retry --tag nightly --dry-run": "Which turns that would be"
    }
  }
)

/** The command `holdfast retry-now`. */
export const retryNow = all(
  { type: "retry-now" },
  {
    name: "retry-now",
    does: "End the wait of all turns that wait, calls through the gateway too: each calls now",
    short: "End the wait of turns: they call now",
    examples: {
      "holdfast retry-now --client claude": "All calls of Claude Code that wait",
      "holdfast retry-now --turn call-mx0xq8cd-612c9c35": "One of them"
    }
  }
)

/** The command `holdfast wait-until`. */
export const waitUntil = RunningService.command(
  {
    name: "wait-until",
    does: "Put the next call of all turns that wait off, or forward, to a moment",
    short: "Set when turns that wait call next",
    options: {
      ...options,
      until: Declaration.parsedArgument("moment", `When they call: ${Since.AHEAD.expected}`, Since.AHEAD)
    },
    examples: { "holdfast wait-until 03:00 --model anthropic": "When the limit of a plan ends" }
  },
  (given, client) => run(client, given, { type: "wait-until", until: given.until })
)

/** The command `holdfast give-up`. */
export const giveUp = all(
  { type: "abort-retry" },
  {
    name: "give-up",
    does: "End all turns that wait: each fails with the error that it waits for to pass",
    short: "End all turns that wait",
    examples: { "holdfast give-up --model anthropic": "Those that wait for Anthropic" }
  }
)

/** The command `holdfast switch`. */
export const switchTarget = RunningService.command(
  {
    name: "switch",
    does: "Go on with another model, for all turns that wait",
    short: "Go on with another model",
    options: {
      ...options,
      to: Declaration.required("to", "PROVIDER/MODEL", "Model that the turns go on with")
    },
    examples: { "holdfast switch --model anthropic --to openai/gpt-5": "Those that wait for Anthropic" }
  },
  (given, client) => run(client, given, { type: "switch-target", model: given.to })
)

/** The command `holdfast raise-limit`. Turns and calls that ask about the limit go on. */
export const raiseLimit = RunningService.command(
  {
    name: "raise-limit",
    does: "Raise a limit of spending, by default to as much again from now on: until midnight, or as long as its conversation",
    short: "Raise a limit of spending",
    options: {
      limit: Argument.Int("limit").pipe(Argument.withDescription("Its place in `spend` of the configuration, from 0")),
      tag: Declaration.text("tag", "TAG", "Of a limit of each tag: which"),
      conversationId: Declaration.conversation("Of a limit of each conversation: which"),
      money: Declaration.orUndefined(
        Flag.Finite("money").pipe(Flag.withMetavar("DOLLARS"), Flag.withDescription("US dollars more"))
      ),
      tokens: Declaration.orUndefined(Declaration.whole("tokens", "Tokens more", 1))
    },
    examples: {
      "holdfast raise-limit 0": "spend[0] allows as much again today",
      "holdfast raise-limit 1 --tag claude --tokens 500000": "So much more for Claude Code"
    }
  },
  Effect.fnUntraced(function* (given, client) {
    const terminal = yield* Terminal
    const raised = yield* client.raiseLimit(defined(given))
    const now = yield* Clock.currentTimeMillis
    const until = raised.until === undefined ? "" : ` until ${LocalTime.toSeconds(now)(raised.until)}`
    terminal.stdout(`spend[${raised.limit}] allows ${SpendLimits.figures(raised)} in all${until}.\n`)
  })
)

// --- internal

const run = Effect.fnUntraced(function* (
  client: RunningService.ServiceClient,
  given: Declaration.Given<typeof options>,
  command: BulkCommands.BulkCommand
) {
  const terminal = yield* Terminal
  const status = command.type === "retry" ? ("failed" as const) : ("waiting" as const)
  const named = yield* Filter.of(given)
  if (Object.keys(named).length === 0) {
    return yield* Refused.usage(
      "Name the turns: --since, --model, --tag, --client, --session or --turn. Several of them narrow the choice."
    )
  }
  const request = { command, filter: { ...named, status }, dryRun: given.dryRun }
  /** The first turns that were refused for a reason, and their number: an unknown model is one reason for all. */
  const refused: Refusals = new Map()
  let count = 0
  yield* Stream.runForEach(client.commandTurns(request), (turn) =>
    Effect.sync(() => {
      count++
      const { message = "", outcome, retriedBy, turnId } = turn
      const [first, before] = refused.get(message) ?? [[], 0]
      if (outcome === "refused") refused.set(message, [before < MOST_NAMED ? [...first, turnId] : first, before + 1])
      if (given.json) writeJson(terminal, turn)
      else if (outcome !== "refused")
        terminal.stdout(`${turnId} ${outcome}${retriedBy === undefined ? "" : ` ${retriedBy}`}\n`)
    })
  ).pipe(Effect.ensuring(Effect.sync(() => given.json || printRefused(terminal, refused))))
  if (count === 0 && !given.json) note(terminal, "dim", `No ${status} turn matches.`)
  yield* Ended.by(refused.size > 0 ? ExitCode.FAILED : ExitCode.COMPLETED)
})

/** Refused turns that are named for each reason; `--json` has all. */
const MOST_NAMED = 10

type Refusals = Map<string, readonly [first: ReadonlyArray<string>, count: number]>

const printRefused = (terminal: Terminal["Service"], refused: Refusals): void => {
  for (const [message, [first, count]] of refused) {
    const named = `${first.join(", ")}${count > first.length ? ", …" : ""}`
    const what = count === 1 ? `${named} refused` : `${count} turns refused (${named})`
    note(terminal, "red", `${what}: ${Prose.oneLine(message)}`)
  }
}
