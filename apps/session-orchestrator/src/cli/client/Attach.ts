/**
 * `holdfast attach ID`: watches a turn of the running service, as `holdfast run` shows its own.
 *
 * Ctrl-C leaves; the turn goes on. `holdfast cancel` ends it. A connection that breaks off is made again, for as long as it takes: the
 * turn outlives the service's restarts too.
 */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Prose from "../../text/Prose.ts"
import { Ended } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as RunCommand from "../RunCommand.ts"
import * as Signals from "../Signals.ts"
import { Terminal } from "../terminal/Terminal.ts"
import * as LeftTurns from "./LeftTurns.ts"
import * as Service from "./Service.ts"

/** The command `holdfast attach`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "attach",
    {
      turn: Argument.String("turn").pipe(Argument.withDescription("Id of the turn, as `holdfast submit` printed it")),
      json: Flag.Boolean("json").pipe(
        Flag.withDescription("Print the turn's events, one JSON object a line, instead of the answer"),
        Flag.withDefault(false)
      ),
      ...Service.flags
    },
    ({ json, turn, ...given }) =>
      Service.use(parts, given, (client) =>
        Effect.gen(function* () {
          const turnId = yield* LeftTurns.idOf(turn)
          const terminal = yield* Terminal
          const signals = yield* Signals.Signals
          // A turn that does not exist, or a service that is not there, is reported at once.
          const { conversationId } = yield* client.turn(turnId).getState
          const { events } = client.conversation(conversationId).turn(turnId)
          const shown = json
            ? RunCommand.printEvents(events, terminal, Effect.never, Effect.void)
            : RunCommand.show({
                events,
                terminal,
                interrupted: Effect.never,
                abort: Effect.void,
                timeOfDay: RunCommand.timeOfDay,
                advice: "Ctrl-C leaves it running",
                head: `Turn ${turnId} of conversation ${conversationId}.`
              })
          const end = yield* Effect.raceFirst(shown, Effect.as(signals.first, "left" as const))
          if (end === "left") {
            terminal.stderr(`The turn goes on. ${Prose.oneLine(`\`holdfast attach ${turnId}\``)} watches it again.\n`)
            return yield* new Ended({ exitCode: ExitCode.ABORTED })
          }
          const exitCode = RunCommand.exitCodeOf(end)
          if (exitCode !== ExitCode.COMPLETED) return yield* new Ended({ exitCode })
        }).pipe(Effect.provide(Signals.layer))
      )
  ).pipe(
    Command.withDescription(
      "Watch a turn of the running service to its end. Ctrl-C leaves it running. Exit codes: 0 answered, 1 failed, 130 aborted or left"
    ),
    Command.withShortDescription("Watch a turn of the running service"),
    Command.withExamples([
      { command: "holdfast attach weekly-1", description: "Its waits with a countdown, then its answer" },
      { command: "holdfast attach --json weekly-1 | jq .type", description: "Its events" }
    ])
  )
