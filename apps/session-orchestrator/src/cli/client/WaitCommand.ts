/**
 * `holdfast wait ID...`: waits until turns have ended, and prints each with how it ended.
 *
 * The service may restart meanwhile: it is asked again until `--timeout`, or without end.
 */
import { Clock, Duration, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Ids, TurnState } from "@holdfast/wire"
import * as DurationText from "../../text/DurationText.ts"
import { Ended, Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as Setup from "../Setup.ts"
import { paint, Terminal } from "../terminal/Terminal.ts"
import * as ServiceClient from "./ServiceClient.ts"
import * as TurnCalls from "./TurnCalls.ts"

/** The command `holdfast wait`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "wait",
    {
      turns: Argument.String("turn").pipe(
        Argument.withDescription("Ids of turns, as `holdfast submit` printed them"),
        Argument.variadic({ min: 1 })
      ),
      timeout: Flag.String("timeout").pipe(
        Flag.withMetavar("DURATION"),
        Flag.withDescription('Wait so long at most, as in "8 hours"'),
        Flag.optional
      ),
      json: Flag.Boolean("json").pipe(
        Flag.withDescription("Print each turn as JSON once it has ended"),
        Flag.withDefault(false)
      ),
      url: ServiceClient.urlFlag,
      config: Setup.configFlag
    },
    ({ config, json, timeout, turns, url }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(config) }, ({ server }) =>
        Effect.gen(function* () {
          const terminal = yield* Terminal
          const ids = yield* Effect.forEach([...new Set(turns)], TurnCalls.idOf)
          const limitMs = yield* limitOf(Option.getOrUndefined(timeout))
          const client = yield* ServiceClient.of(url, parts.environment, server)
          const states = yield* untilEnded(client, ids, limitMs, (state) =>
            terminal.stdout(`${json ? TurnCalls.inJson(state) : `${state.turnId} ${TurnCalls.inWords(state)}`}\n`)
          )
          const open = ids.length - states.length
          if (open > 0) terminal.stderr(`${paint(terminal.colors.stderr, "yellow", openText(open, ids.length))}\n`)
          const ended = TurnCalls.exitCodeOf(states)
          const exitCode = ended === ExitCode.COMPLETED && open > 0 ? ExitCode.PENDING : ended
          if (exitCode !== ExitCode.COMPLETED) return yield* new Ended({ exitCode })
        })
      )
  ).pipe(
    Command.withDescription(
      "Wait until turns have ended. Exit codes: 0 all answered, 1 one failed or was aborted, 3 one has not ended by --timeout"
    ),
    Command.withShortDescription("Wait until turns have ended"),
    Command.withExamples([
      { command: "holdfast wait $(holdfast submit --each prompts.txt)", description: "Until all of a file have ended" },
      { command: 'holdfast wait --timeout "8 hours" weekly-1', description: "A night at most" }
    ])
  )

/**
 * Asks for each turn again and again until it has ended; `show` gets each as it does.
 *
 * Fails for a turn that does not exist. Ends after `limitMs` with the turns that have ended by then.
 */
export const untilEnded = Effect.fnUntraced(function* (
  client: ServiceClient.ServiceClient,
  ids: ReadonlyArray<Ids.TurnId>,
  limitMs: number,
  show: (state: TurnState.TurnState) => void
) {
  const ended: Array<TurnState.TurnState> = []
  const open = new Set(ids)
  const deadline = (yield* Clock.currentTimeMillis) + limitMs
  while (open.size > 0) {
    yield* Effect.forEach(
      Array.from(open),
      (turnId) =>
        TurnCalls.read(client, turnId).pipe(
          Effect.map((state) => {
            if (!TurnCalls.hasEnded(state) || !open.delete(turnId)) return
            ended.push(state)
            show(state)
          }),
          Effect.catchTag("Unreachable", () => Effect.void),
          Effect.catchIf(
            (error) => error.status === 503,
            () => Effect.void
          )
        ),
      { concurrency: AT_ONCE, discard: true }
    )
    const left = deadline - (yield* Clock.currentTimeMillis)
    if (open.size === 0 || left <= 0) break
    yield* Effect.sleep(Duration.millis(Math.min(left, INTERVAL_MS + open.size * EACH_MS)))
  }
  return ended
})

/** How many turns have not ended, in words. */
export const openText = (open: number, all: number): string => {
  if (all === 1) return "The turn has not ended."
  return open === 1 ? `1 of ${all} turns has not ended.` : `${open} of ${all} turns have not ended.`
}

// --- internal

const AT_ONCE = 8

/** Between two rounds: what a person notices, and for each turn as much again as it costs the service. */
const INTERVAL_MS = 1_000
const EACH_MS = 10

const limitOf = (text: string | undefined): Effect.Effect<number, Refused> => {
  if (text === undefined) return Effect.succeed(Infinity)
  const duration = DurationText.parse(text)
  return duration === undefined
    ? Effect.fail(
        new Refused({ message: '--timeout: expected a duration such as "8 hours".', exitCode: ExitCode.USAGE })
      )
    : Effect.succeed(Duration.toMillis(duration))
}
