/**
 * `holdfast retry`, `give-up` and `switch`: one command for all turns of the running service that a filter names.
 *
 * Each turn is printed with what became of it. The command continues page by page until the filter names no more turns. A filter is
 * required; `--dry-run` prints the turns and does nothing.
 */
import type { BulkCommands } from "@holdfast/wire/api"
import { Clock, Effect, type Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import * as Prose from "../../text/Prose.ts"
import { Ended, Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import { paint, Terminal } from "../terminal/Terminal.ts"
import * as Filter from "./Filter.ts"
import * as Service from "./Service.ts"

const flags = {
  ...Filter.flags("turns"),
  dryRun: Flag.Boolean("dry-run").pipe(
    Flag.withDescription("Print the turns, and do nothing"),
    Flag.withDefault(false)
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON object a line"), Flag.withDefault(false)),
  ...Service.flags
}

/** The command `holdfast retry`. */
export const retry = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make("retry", flags, (given) => run(parts, given, { type: "retry" }, "failed")).pipe(
    Command.withDescription(
      "Run the model again for all turns that have failed, as far as they are the newest of their conversation"
    ),
    Command.withShortDescription("Retry all turns that have failed"),
    Command.withExamples([
      { command: "holdfast retry --since 22:00", description: "What failed in the night" },
      { command: "holdfast retry --tag nightly --dry-run", description: "Which turns that would be" }
    ])
  )

/** The command `holdfast give-up`. */
export const giveUp = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make("give-up", flags, (given) => run(parts, given, { type: "abort-retry" }, "waiting")).pipe(
    Command.withDescription("End all turns that wait: each fails with the error that it waits for to pass"),
    Command.withShortDescription("End all turns that wait"),
    Command.withExamples([
      { command: "holdfast give-up --model anthropic", description: "Those that wait for Anthropic" }
    ])
  )

/** The command `holdfast switch`. */
export const switchTarget = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "switch",
    {
      ...flags,
      to: Flag.String("to").pipe(
        Flag.withMetavar("PROVIDER/MODEL"),
        Flag.withDescription("Model that the turns go on with")
      )
    },
    (given) => run(parts, given, { type: "switch-target", model: given.to }, "waiting")
  ).pipe(
    Command.withDescription("Go on with another model, for all turns that wait"),
    Command.withShortDescription("Go on with another model"),
    Command.withExamples([
      {
        command: "holdfast switch --model anthropic --to openai/gpt-5",
        description: "Those that wait for Anthropic"
      }
    ])
  )

// --- internal

interface BulkFlags extends Filter.Flags {
  readonly dryRun: boolean
  readonly json: boolean
  readonly url: Option.Option<string>
  readonly config: Option.Option<string>
}

const run = <E extends StartFailure>(
  parts: Parts<E>,
  given: BulkFlags,
  command: BulkCommands.BulkCommand,
  status: NonNullable<BulkCommands.BulkFilter["status"]>
) =>
  Service.use(parts, given, (client) =>
    Effect.gen(function* () {
      const named = yield* Filter.of(given, yield* Clock.currentTimeMillis)
      if (Object.keys(named).length === 0) {
        return yield* refused("Name the turns: --since, --model or --tag. Several of them narrow the choice.")
      }
      let hasRefused = false
      let count = 0
      const request = { command, filter: { ...named, status }, dryRun: given.dryRun }
      yield* Stream.runForEach(client.commandTurns(request), (turn) => {
        count++
        hasRefused ||= turn.outcome === "refused"
        return print(turn, given.json)
      })
      if (count === 0 && !given.json) {
        const { colors, stderr } = yield* Terminal
        stderr(`${paint(colors.stderr, "dim", `No ${status} turn matches.`)}\n`)
      }
      if (hasRefused) return yield* new Ended({ exitCode: ExitCode.FAILED })
    })
  )

const print = Effect.fnUntraced(function* (turn: BulkCommands.BulkOutcome, isJson: boolean) {
  const terminal = yield* Terminal
  if (isJson) return terminal.stdout(`${Prose.inJson(JSON.stringify(turn))}\n`)
  const { message, outcome, retriedBy, turnId } = turn
  if (outcome === "refused") {
    const text = `${turnId} refused: ${Prose.oneLine(message ?? "")}`
    return terminal.stderr(`${paint(terminal.colors.stderr, "red", text)}\n`)
  }
  terminal.stdout(`${turnId} ${outcome}${retriedBy === undefined ? "" : ` ${retriedBy}`}\n`)
})

const refused = (message: string) => Effect.fail(new Refused({ message, exitCode: ExitCode.USAGE }))
