/** Runs `holdfast explain`: prints a turn's decisions from the database, service or not (X9). */
import { Ids } from "@holdfast/wire"
import { Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { Secrets } from "../redaction/Secrets.ts"
import * as Explanation from "../inspection/Explanation.ts"
import * as ExplanationText from "../inspection/ExplanationText.ts"
import { Inspection } from "../inspection/Inspection.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as Setup from "./Setup.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** The command `explain`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "explain",
    {
      turn: Argument.String("turn").pipe(Argument.withDescription("Id of the turn, as `holdfast turns` prints it")),
      config: Setup.configFlag,
      json: Setup.jsonFlag
    },
    ({ config: file, json, turn }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(file) }, () =>
        Effect.gen(function* () {
          const inspection = yield* Inspection
          const terminal = yield* Terminal
          const { redact } = yield* Secrets
          const turnId = Option.getOrUndefined(decodeTurnId(turn))
          const evidence = turnId && (yield* inspection.evidence(turnId))
          if (evidence === undefined) {
            return yield* new Refused({
              message: `There is no turn "${turn}" in this database. \`holdfast turns --all\` lists them.`,
              exitCode: ExitCode.FAILED
            })
          }
          const explanation = Explanation.of(evidence, redact)
          yield* Setup.print(json, explanation, () => ExplanationText.lines(explanation, here(terminal)))
        }).pipe(Effect.provide(parts.inspection))
      )
  ).pipe(
    Command.withDescription("Print why a turn waited, retried or gave up: every decision, its rule and its numbers"),
    Command.withShortDescription("Why a turn waited, retried or gave up"),
    Command.withExamples([
      { command: "holdfast explain 5f0c3a52-7c53-4b7e-9b1e-0c8f5d0f3a11", description: "In words, in local time" },
      { command: "holdfast explain --json nightly-1 | jq .seal", description: "For programs" }
    ])
  )

// --- internal

const decodeTurnId = Schema.decodeUnknownOption(Ids.TurnId)

const here = (terminal: Terminal["Service"]): ExplanationText.Display => ({
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  columns: terminal.isStdoutTerminal ? terminal.columns() : ExplanationText.COLUMNS
})
