/** `holdfast answer ID`: prints the answer of a turn that was left, or what the turn is at. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Prose from "../../text/Prose.ts"
import { Ended } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as Setup from "../Setup.ts"
import { paint, Terminal } from "../terminal/Terminal.ts"
import * as AnswerFiles from "./AnswerFiles.ts"
import * as ServiceClient from "./ServiceClient.ts"
import * as TurnCalls from "./TurnCalls.ts"

/** The command `holdfast answer`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "answer",
    {
      turn: Argument.String("turn").pipe(Argument.withDescription("Id of the turn, as `holdfast submit` printed it")),
      json: Flag.Boolean("json").pipe(
        Flag.withDescription("Print the turn as JSON: status, answer or error, attempts, usage; times in milliseconds"),
        Flag.withDefault(false)
      ),
      files: AnswerFiles.flag,
      url: ServiceClient.urlFlag,
      config: Setup.configFlag
    },
    ({ config, files, json, turn, url }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(config) }, ({ server }) =>
        Effect.gen(function* () {
          const turnId = yield* TurnCalls.idOf(turn)
          const terminal = yield* Terminal
          const client = yield* ServiceClient.of(url, parts.environment, server)
          const state = yield* TurnCalls.read(client, turnId)
          if (json) terminal.stdout(`${TurnCalls.inJson(state)}\n`)
          else if (state.text !== undefined) {
            const text = terminal.isStdoutTerminal ? Prose.harmless(state.text) : state.text
            terminal.stdout(text.endsWith("\n") || (text === "" && state.files !== undefined) ? text : `${text}\n`)
          } else {
            const color = TurnCalls.hasEnded(state) ? "red" : "yellow"
            terminal.stderr(`${paint(terminal.colors.stderr, color, `Turn ${turnId}: ${TurnCalls.inWords(state)}`)}\n`)
          }
          const folder = Option.getOrUndefined(files)
          const { files: returned = [] } = state
          const written =
            folder === undefined || returned.length === 0 ? [] : yield* AnswerFiles.write(client, state, folder)
          const lines = [...written, ...AnswerFiles.unwritten(returned, folder)]
          if (!json || folder !== undefined) for (const line of lines) terminal.stderr(`${Prose.oneLine(line)}\n`)
          const exitCode = TurnCalls.exitCodeOf([state])
          if (exitCode !== ExitCode.COMPLETED) return yield* new Ended({ exitCode })
        })
      )
  ).pipe(
    Command.withDescription(
      "Print the answer of a turn that was left. Exit codes: 0 answered, 1 failed or aborted, 3 not answered yet"
    ),
    Command.withShortDescription("The answer of a turn that was left"),
    Command.withExamples([
      { command: "holdfast answer weekly-1 > answer.md", description: "The answer, byte for byte" },
      {
        command: "holdfast answer --files pictures poster-1",
        description: "The answer, and its images in the folder pictures"
      },
      { command: "holdfast answer --json weekly-1 | jq .usage", description: "For programs" }
    ])
  )
