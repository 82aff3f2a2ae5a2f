/**
 * Turns that were left, by their ids: `holdfast wait`, `holdfast cancel`, and the words for what a turn is at.
 *
 * `wait`: the service may restart meanwhile. It is asked again until `--timeout`, or without end.
 */
import { Ids, type TurnState } from "@holdfast/wire"
import { Clock, Duration, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as DurationText from "../../text/DurationText.ts"
import * as Prose from "../../text/Prose.ts"
import { Ended, Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import { paint, Terminal } from "../terminal/Terminal.ts"
import * as Service from "./Service.ts"

/** The command `holdfast wait`. */
export const wait = <E extends StartFailure>(parts: Parts<E>) =>
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
      ...Service.flags
    },
    ({ json, timeout, turns, ...given }) =>
      Service.use(parts, given, (client) =>
        Effect.gen(function* () {
          const terminal = yield* Terminal
          const ids = yield* Effect.forEach([...new Set(turns)], idOf)
          const limitMs = yield* limitOf(Option.getOrUndefined(timeout))
          const states = yield* untilEnded(client, ids, limitMs, (state) =>
            terminal.stdout(`${json ? inJson(state) : `${state.turnId} ${inWords(state)}`}\n`)
          )
          const open = ids.length - states.length
          if (open > 0) terminal.stderr(`${paint(terminal.colors.stderr, "yellow", openText(open, ids.length))}\n`)
          const ended = exitCodeOf(states)
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

/** The command `holdfast cancel`. */
export const cancel = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "cancel",
    {
      turns: Argument.String("turn").pipe(
        Argument.withDescription("Ids of turns, as `holdfast submit` printed them"),
        Argument.variadic({ min: 1 })
      ),
      ...Service.flags
    },
    ({ turns, ...given }) =>
      Service.use(parts, given, (client) =>
        Effect.gen(function* () {
          const terminal = yield* Terminal
          const ids = yield* Effect.forEach(turns, idOf)
          let hasFailed = false
          for (const turnId of ids) {
            const { abort, getState } = client.turn(turnId)
            const outcome = yield* Effect.result(Effect.andThen(abort, getState))
            if (outcome._tag === "Success") terminal.stdout(`${turnId} ${outcome.success.status}\n`)
            else if (outcome.failure.code === "unreachable") return yield* Effect.fail(outcome.failure)
            else {
              hasFailed = true
              terminal.stderr(
                `${paint(terminal.colors.stderr, "red", `${turnId}: ${Service.wordsOf(outcome.failure)}`)}\n`
              )
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

/** A turn's id as an argument; anything that is no id is refused before the service is asked. */
export const idOf = (text: string): Effect.Effect<Ids.TurnId, Refused> =>
  Ids.ID_PATTERN.test(text)
    ? Effect.succeed(Ids.TurnId.make(text))
    : Effect.fail(
        new Refused({
          message: `${JSON.stringify(Prose.clip(Prose.oneLine(text), 80))} is no turn's id: expected 1 to 64 letters, digits, "_" or "-".`,
          exitCode: ExitCode.USAGE
        })
      )

/** Whether a turn has ended. */
export const hasEnded = ({ status }: TurnState.TurnState): boolean => ENDED.has(status)

/** How a command ends that is about turns in these states. */
export const exitCodeOf = (states: ReadonlyArray<TurnState.TurnState>): ExitCode.ExitCode => {
  if (states.every(({ status }) => status === "completed")) return ExitCode.COMPLETED
  return states.some((state) => hasEnded(state) && state.status !== "completed") ? ExitCode.FAILED : ExitCode.PENDING
}

/** One line: what a turn is at, and why. */
export const inWords = ({ error, status, wait }: TurnState.TurnState): string => {
  const why =
    error === undefined ? "" : `: ${error.code === undefined ? "" : `${error.code} `}${Prose.oneLine(error.message)}`
  if (wait?.asks !== undefined) return `waiting for an answer: ${Prose.oneLine(wait.asks.message)}`
  const until = wait === undefined ? "" : ` until ${new Date(wait.retryAt).toLocaleString("sv-SE")}`
  return `${status}${until}${why}`
}

/** A turn's state as JSON on one line. */
export const inJson = (state: TurnState.TurnState): string => Prose.inJson(JSON.stringify(state))

/** How many turns have not ended, in words. */
export const openText = (open: number, all: number): string => {
  if (all === 1) return "The turn has not ended."
  return open === 1 ? `1 of ${all} turns has not ended.` : `${open} of ${all} turns have not ended.`
}

// --- internal

/**
 * Asks for each turn again and again until it has ended; `show` gets each as it does.
 *
 * Fails for a turn that does not exist. Ends after `limitMs` with the turns that have ended by then.
 */
const untilEnded = Effect.fnUntraced(function* (
  client: Service.Client,
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
        client.turn(turnId).getState.pipe(
          Effect.map((state) => {
            if (!hasEnded(state) || !open.delete(turnId)) return
            ended.push(state)
            show(state)
          }),
          Effect.catchIf(Service.isAway, () => Effect.void)
        ),
      { concurrency: AT_ONCE, discard: true }
    )
    const left = deadline - (yield* Clock.currentTimeMillis)
    if (open.size === 0 || left <= 0) break
    yield* Effect.sleep(Duration.millis(Math.min(left, INTERVAL_MS + open.size * EACH_MS)))
  }
  return ended
})

const ENDED: ReadonlySet<TurnState.TurnState["status"]> = new Set(["completed", "failed", "aborted"])

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
