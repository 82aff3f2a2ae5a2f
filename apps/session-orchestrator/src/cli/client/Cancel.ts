/** `holdfast cancel ID...`: ends turns that were left; the answer of each is on disk. */
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { Ended } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as Setup from "../Setup.ts"
import { paint, Terminal } from "../terminal/Terminal.ts"
import * as ServiceClient from "./ServiceClient.ts"
import * as TurnCalls from "./TurnCalls.ts"

/** The command `holdfast cancel`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "cancel",
    {
      turns: Argument.String("turn").pipe(
        Argument.withDescription("Ids of turns, as `holdfast submit` printed them"),
        Argument.variadic({ min: 1 })
      ),
      url: ServiceClient.urlFlag,
      config: Setup.configFlag
    },
    ({ config, turns, url }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(config) }, ({ server }) =>
        Effect.gen(function* () {
          const terminal = yield* Terminal
          const ids = yield* Effect.forEach(turns, TurnCalls.idOf)
          const client = yield* ServiceClient.of(url, parts.environment, server)
          let hasFailed = false
          for (const turnId of ids) {
            const outcome = yield* Effect.result(
              Effect.andThen(TurnCalls.abort(client, turnId), TurnCalls.read(client, turnId))
            )
            if (outcome._tag === "Success") terminal.stdout(`${turnId} ${outcome.success.status}\n`)
            else if (outcome.failure._tag === "Unreachable") return yield* outcome.failure
            else {
              hasFailed = true
              terminal.stderr(`${paint(terminal.colors.stderr, "red", `${turnId}: ${outcome.failure.message}`)}\n`)
            }
          }
          if (hasFailed) return yield* new Ended({ exitCode: ExitCode.FAILED })
        })
      )
  ).pipe(
    Command.withDescription(
      "End turns. Each id is printed with how its turn has ended: aborted, or as it had ended before"
    ),
    Command.withShortDescription("End turns that were left"),
    Command.withExamples([{ command: "holdfast cancel weekly-1 weekly-2", description: "Ends two turns" }])
  )
