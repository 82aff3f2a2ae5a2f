/**
 * Turns that were left, by their ids: `holdfast attach`, `wait` and `cancel`, and the words for what a turn is at.
 *
 * The service may restart meanwhile: `attach` connects again, and `wait` asks again until `--timeout`, for as long as it takes.
 */
import type { Ids, TurnState } from "@holdfast/wire"
import { Clock, Duration, Effect } from "effect"
import { Argument } from "effect/cli"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as Declaration from "../Declaration.ts"
import { Ended, ExitCode } from "../Ended.ts"
import * as RunCommand from "../RunCommand.ts"
import * as Signals from "../Signals.ts"
import { note, Terminal, writeJson } from "../terminal/Terminal.ts"
import * as RunningService from "./RunningService.ts"

/** The argument of a command about one turn. */
export const turn = Declaration.parsedArgument(
  "turn",
  "Id of the turn, as `holdfast submit` printed it",
  Declaration.TURN
)

const turns = Argument.variadic(
  Declaration.parsedArgument("turn", "Ids of turns, as `holdfast submit` printed them", Declaration.TURN),
  { min: 1 }
)

/** The command `holdfast attach`. */
export const attach = RunningService.command(
  {
    name: "attach",
    does: "Watch a turn of the running service to its end. Ctrl-C leaves it running. Exit codes: 0 answered, 1 failed, 130 aborted or left",
    short: "Watch a turn of the running service",
    options: { turn, json: Declaration.events },
    examples: {
      "holdfast attach weekly-1": "Its waits with a countdown, then its answer",
      "holdfast attach --json weekly-1 | jq .type": "Its events"
    }
  },
  Effect.fnUntraced(function* ({ json, turn }, client) {
    const terminal = yield* Terminal
    const signals = yield* Signals.Signals
    // A turn that does not exist, or a service that is not there, is reported at once.
    const { conversationId } = yield* client.turn(turn).getState
    const { events } = client.conversation(conversationId).turn(turn)
    const shown = (json ? RunCommand.printEvents : RunCommand.show)({
      events,
      terminal,
      advice: "Ctrl-C leaves it running",
      head: `Turn ${turn} of conversation ${conversationId}.`
    })
    const end = yield* Effect.raceFirst(shown, Effect.as(signals.first, "left" as const))
    if (end === "left") terminal.stderr(`The turn goes on. \`holdfast attach ${turn}\` watches it again.\n`)
    yield* Ended.by(end === "left" ? ExitCode.ABORTED : RunCommand.exitCodeOf(end))
  }, Effect.provide(Signals.layer))
)

/** The command `holdfast wait`. */
export const wait = RunningService.command(
  {
    name: "wait",
    does: "Wait until turns have ended. Exit codes: 0 all answered, 1 one failed or was aborted, 3 one has not ended by --timeout",
    short: "Wait until turns have ended",
    options: {
      turns,
      timeout: Declaration.duration("timeout", 'Wait so long at most, as in "8 hours"', "8 hours"),
      json: Declaration.toggle("json", "Print each turn as JSON once it has ended")
    },
    examples: {
      "holdfast wait $(holdfast submit --each prompts.txt)": "Until all of a file have ended",
      'holdfast wait --timeout "8 hours" weekly-1': "A night at most"
    }
  },
  Effect.fnUntraced(function* ({ json, timeout = Infinity, turns }, client) {
    const terminal = yield* Terminal
    const ids = new Set(turns)
    const states = yield* untilEnded(client, ids, timeout, (state) =>
      json ? writeJson(terminal, state) : terminal.stdout(`${state.turnId} ${inWords(state)}\n`)
    )
    const open = ids.size - states.length
    if (open > 0) note(terminal, "yellow", openText(open, ids.size))
    const ended = exitCodeOf(states)
    yield* Ended.by(ended === ExitCode.COMPLETED && open > 0 ? ExitCode.PENDING : ended)
  })
)

/** The command `holdfast cancel`. */
export const cancel = RunningService.command(
  {
    name: "cancel",
    does: "End turns. Each id is printed with how its turn has ended: aborted, or as it had ended before",
    short: "End turns that were left",
    options: { turns },
    examples: { "holdfast cancel weekly-1 weekly-2": "Ends two turns" }
  },
  Effect.fnUntraced(function* ({ turns }, client) {
    const terminal = yield* Terminal
    let hasFailed = false
    for (const turnId of turns) {
      const { abort, getState } = client.turn(turnId)
      const outcome = yield* Effect.result(Effect.andThen(abort, getState))
      if (outcome._tag === "Success") terminal.stdout(`${turnId} ${outcome.success.status}\n`)
      else if (outcome.failure.code === "unreachable") return yield* Effect.fail(outcome.failure)
      else {
        hasFailed = true
        note(terminal, "red", `${turnId}: ${RunningService.wordsOf(outcome.failure)}`)
      }
    }
    yield* Ended.by(hasFailed ? ExitCode.FAILED : ExitCode.COMPLETED)
  })
)

/** Whether a turn has ended. */
export const hasEnded = ({ status }: TurnState.TurnState): boolean => ENDED.has(status)

/** How a command ends that is about turns in these states. */
export const exitCodeOf = (states: ReadonlyArray<TurnState.TurnState>): ExitCode => {
  if (states.every(({ status }) => status === "completed")) return ExitCode.COMPLETED
  return states.some((state) => hasEnded(state) && state.status !== "completed") ? ExitCode.FAILED : ExitCode.PENDING
}

/** One line: what a turn is at, and why. */
export const inWords = ({ error, status, wait }: TurnState.TurnState): string => {
  const why = error === undefined ? "" : `: ${Prose.coded(error.code, error.message)}`
  if (wait?.asks !== undefined) return `waiting for an answer: ${Prose.oneLine(wait.asks.message)}`
  const until = wait === undefined ? "" : ` until ${LocalTime.full(LocalTime.here(), "medium")(wait.retryAt)}`
  return `${status}${until}${why}`
}

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
  client: RunningService.ServiceClient,
  ids: Iterable<Ids.TurnId>,
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
          Effect.catchIf(RunningService.isAway, () => Effect.void)
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
