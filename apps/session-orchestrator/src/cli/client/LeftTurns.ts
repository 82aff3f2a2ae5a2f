/**
 * Turns that were left, by their ids: `holdfast attach`, `wait`, `cancel` and `answer`, and the words for what a turn is at.
 *
 * The service may restart meanwhile: `attach` connects again, and `wait` asks again until `--timeout`, for as long as it takes.
 */
import type { ClientError } from "@holdfast/client"
import { Count, HeldCall, type Ids, type Message, type TurnState } from "@holdfast/wire"
import { Clock, Duration, Effect, FileSystem, type PlatformError } from "effect"
import { Argument } from "effect/cli"
import * as path from "node:path"
import { causeOf } from "../../base/system/PlatformFailure.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as Declaration from "../Declaration.ts"
import { Ended, ExitCode, Refused } from "../Ended.ts"
import * as MediaTypes from "../MediaTypes.ts"
import * as RunCommand from "../RunCommand.ts"
import * as Signals from "../Signals.ts"
import { note, Terminal, writeJson } from "../terminal/Terminal.ts"
import * as RunningService from "./RunningService.ts"

const turn = Declaration.parsedArgument("turn", "Id of the turn, as `holdfast submit` printed it", Declaration.TURN)

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
      json ? writeJson(terminal, state) : terminal.stdout(`${state.turnId} ${inWords(state, Infinity)}\n`)
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

/** The command `holdfast answer`. */
export const answer = RunningService.command(
  {
    name: "answer",
    does: "Print the answer of a turn that was left. Exit codes: 0 answered, 1 failed or aborted, 3 not answered yet",
    short: "The answer of a turn that was left",
    options: {
      turn,
      json: Declaration.toggle(
        "json",
        "Print the turn as JSON: status, answer or error, attempts, usage; times in milliseconds"
      ),
      files: Declaration.text("files", "FOLDER", "Write the files of the answer, such as images, to this folder")
    },
    examples: {
      "holdfast answer weekly-1 > answer.md": "The answer, byte for byte",
      "holdfast answer --files pictures poster-1": "The answer, and its images in the folder pictures",
      "holdfast answer --json weekly-1 | jq .usage": "For programs"
    }
  },
  Effect.fnUntraced(function* ({ files: folder, json, turn }, client) {
    const terminal = yield* Terminal
    const state = yield* client.turn(turn).getState
    if (json) writeJson(terminal, state)
    else if (state.text !== undefined) {
      const text = terminal.isStdoutTerminal ? Prose.harmless(state.text) : state.text
      terminal.stdout(text.endsWith("\n") || (text === "" && state.files !== undefined) ? text : `${text}\n`)
    } else {
      const color = hasEnded(state) ? "red" : "yellow"
      note(terminal, color, `Turn ${turn}: ${inWords(state, yield* Clock.currentTimeMillis)}`)
    }
    const { files: returned = [] } = state
    const written = folder === undefined || returned.length === 0 ? [] : yield* writeFiles(client, state, folder)
    const lines = [...written, ...unwrittenFiles(returned, folder)]
    if (!json || folder !== undefined) for (const line of lines) terminal.stderr(`${Prose.oneLine(line)}\n`)
    yield* Ended.by(exitCodeOf([state]))
  })
)

/** The lines of the files that are not written: with a folder those at an address, which nothing reads; without one all. */
export const unwrittenFiles = (
  files: ReadonlyArray<TurnState.AnswerFile>,
  folder: string | undefined
): ReadonlyArray<string> =>
  files
    .filter(({ sizeBytes }) => folder === undefined || sizeBytes === undefined)
    .map((file) => `${lineOf(file)}${file.sizeBytes === undefined ? "" : " (--files FOLDER writes it)"}`)

/**
 * Writes the files of a turn's answer that have bytes, and returns their paths. A file's name begins with the turn's id and a number, so no two
 * of them are one, and no name leaves the folder.
 */
export const writeFiles = Effect.fnUntraced(function* (
  client: Pick<RunningService.ServiceClient, "conversation">,
  { conversationId, turnId }: Pick<TurnState.TurnState, "conversationId" | "turnId">,
  folder: string
): Effect.fn.Return<ReadonlyArray<string>, Refused | ClientError, FileSystem.FileSystem> {
  const disk = yield* FileSystem.FileSystem
  const messages = yield* client.conversation(conversationId).getMessages
  const refused = (error: PlatformError.PlatformError) =>
    Refused.failed(`--files: ${folder} cannot be written: ${causeOf(error)}.`)
  yield* Effect.mapError(disk.makeDirectory(folder, { recursive: true }), refused)
  return yield* Effect.forEach(bytesOf(messages, turnId), (file, at) => {
    const to = path.join(folder, nameOf(turnId, file, at))
    return Effect.as(Effect.mapError(disk.writeFile(to, Buffer.from(file.data, "base64")), refused), to)
  })
})

/** Whether a turn has ended. */
const hasEnded = ({ status }: TurnState.TurnState): boolean => ENDED.has(status)

/** How a command ends that is about turns in these states. */
const exitCodeOf = (states: ReadonlyArray<TurnState.TurnState>): ExitCode => {
  if (states.every(({ status }) => status === "completed")) return ExitCode.COMPLETED
  return states.some((state) => hasEnded(state) && state.status !== "completed") ? ExitCode.FAILED : ExitCode.PENDING
}

/** One line: what a turn is at, and why. */
export const inWords = ({ conversationId, error, status, wait }: TurnState.TurnState, now: number): string => {
  const why = error === undefined ? "" : `: ${Prose.coded(error.code, error.message)}`
  if (wait?.asks !== undefined) return `waiting for an answer: ${Prose.oneLine(wait.asks.message)}`
  if (wait === undefined) return `${status}${why}`
  const due = HeldCall.dueWords(conversationId, wait.retryAt - now)
  return `${due ?? `${status} until ${LocalTime.full(LocalTime.here(), "medium")(wait.retryAt)}`}${why}`
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

/** A file on one line: its type, size and name. */
const lineOf = ({ mediaType, name, sizeBytes, url }: TurnState.AnswerFile): string => {
  const where = sizeBytes === undefined ? `at ${url}` : Count.ofBytes(sizeBytes)
  return [mediaType, where, name].filter((word) => word !== undefined).join(" ")
}

/** The files with bytes in the last answer of a turn. */
const bytesOf = (messages: ReadonlyArray<Message.Message>, turnId: Ids.TurnId) => {
  const answer = messages.findLast((message) => message.role === "assistant" && message.turnId === turnId)
  return answer?.role === "assistant"
    ? answer.content.flatMap((part) => (part.type === "file" && "data" in part ? [part] : []))
    : []
}

/** `at` is 0-based. */
const nameOf = (turnId: Ids.TurnId, { mediaType, name }: Message.ModelFile, at: number): string =>
  `${turnId}-${at + 1}${name === undefined ? `.${MediaTypes.endingOf(mediaType) ?? "bin"}` : `-${name}`}`
