/**
 * `holdfast answer ID`: prints the answer of a turn that was left, or what the turn is at. `--files` writes the answer's files to a folder.
 *
 * A file's name begins with the turn's id and a number, so no two of them are one, and no name leaves the folder.
 */
import type { ClientError } from "@holdfast/client"
import { Count, type Ids, type Message, type TurnState } from "@holdfast/wire"
import { Effect, FileSystem, type PlatformError } from "effect"
import * as path from "node:path"
import { causeOf } from "../../base/system/PlatformFailure.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as Declaration from "../Declaration.ts"
import { Ended, Refused } from "../Ended.ts"
import * as MediaTypes from "../MediaTypes.ts"
import { note, Terminal, writeJson } from "../terminal/Terminal.ts"
import * as LeftTurns from "./LeftTurns.ts"
import * as RunningService from "./RunningService.ts"

/** The command `holdfast answer`. */
export const command = RunningService.command(
  {
    name: "answer",
    does: "Print the answer of a turn that was left. Exit codes: 0 answered, 1 failed or aborted, 3 not answered yet",
    short: "The answer of a turn that was left",
    options: {
      turn: LeftTurns.turn,
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
      const color = LeftTurns.hasEnded(state) ? "red" : "yellow"
      note(terminal, color, `Turn ${turn}: ${LeftTurns.inWords(state)}`)
    }
    const { files: returned = [] } = state
    const written = folder === undefined || returned.length === 0 ? [] : yield* write(client, state, folder)
    const lines = [...written, ...unwritten(returned, folder)]
    if (!json || folder !== undefined) for (const line of lines) terminal.stderr(`${Prose.oneLine(line)}\n`)
    yield* Ended.by(LeftTurns.exitCodeOf([state]))
  })
)

/** The lines of the files that are not written: with a folder those at an address, which nothing reads; without one all. */
export const unwritten = (
  files: ReadonlyArray<TurnState.AnswerFile>,
  folder: string | undefined
): ReadonlyArray<string> =>
  files
    .filter(({ sizeBytes }) => folder === undefined || sizeBytes === undefined)
    .map((file) => `${lineOf(file)}${file.sizeBytes === undefined ? "" : " (--files FOLDER writes it)"}`)

/** Writes the files of a turn's answer that have bytes, and returns their paths. */
export const write = Effect.fnUntraced(function* (
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

// --- internal

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
