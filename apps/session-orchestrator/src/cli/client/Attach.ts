/**
 * `holdfast attach ID`: watches a turn of the running service, as `holdfast run` shows its own.
 *
 * Ctrl-C leaves; the turn goes on. `holdfast cancel` ends it. A connection that breaks off is made again, for as long as it takes: the
 * turn outlives the service's restarts too.
 */
import { TurnEvent, type Ids } from "@holdfast/wire"
import { Effect, Option, Schedule, Schema, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Frame } from "../../conversation/Conversations.ts"
import * as Prose from "../../text/Prose.ts"
import { Ended } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as RunCommand from "../RunCommand.ts"
import * as Setup from "../Setup.ts"
import * as Signals from "../Signals.ts"
import { Terminal } from "../terminal/Terminal.ts"
import * as Rejoined from "./Rejoined.ts"
import * as ServiceClient from "./ServiceClient.ts"
import * as TurnCalls from "./TurnCalls.ts"

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
      url: ServiceClient.urlFlag,
      config: Setup.configFlag
    },
    ({ config, json, turn, url }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(config) }, ({ server }) =>
        Effect.gen(function* () {
          const turnId = yield* TurnCalls.idOf(turn)
          const client = yield* ServiceClient.of(url, parts.environment, server)
          const terminal = yield* Terminal
          const signals = yield* Signals.Signals
          // A turn that does not exist, or a service that is not there, is reported at once.
          const { conversationId } = yield* TurnCalls.read(client, turnId)
          const frames = framesOf(client, turnId)
          const shown = json
            ? RunCommand.printEvents(frames, terminal, Effect.never, Effect.void)
            : RunCommand.show({
                frames,
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

/** A turn's events from the first to the last, over any number of connections. */
export const framesOf = (
  client: ServiceClient.ServiceClient,
  turnId: Ids.TurnId
): Stream.Stream<Frame, ServiceClient.Refusal | ServiceClient.Unreachable> =>
  Stream.suspend(() => {
    let seen = Rejoined.nothing
    const connection = Stream.suspend(() => {
      let at = Rejoined.connected
      return client.lines(`/v1/turns/${turnId}/events`).pipe(
        Stream.flatMap((line) => {
          const event = Option.getOrUndefined(decode(line))
          // A type that a later version added.
          if (event === undefined) return Stream.empty
          const [nextSeen, nextAt, events] = Rejoined.take(seen, at, event)
          seen = nextSeen
          at = nextAt
          return Stream.fromIterable(events)
        })
      )
    })
    return connection.pipe(
      Stream.catchIf(isPassing, () => Stream.empty),
      Stream.repeat(Schedule.spaced("1 second")),
      Stream.takeUntil((event) => event.type === "turn-end"),
      Stream.map((event): Frame => ({ event, json: JSON.stringify(event), id: undefined }))
    )
  })

// --- internal

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(TurnEvent.TurnEvent))

const isPassing = (error: ServiceClient.Refusal | ServiceClient.Unreachable): boolean =>
  error._tag === "Unreachable" || error.status === 503
