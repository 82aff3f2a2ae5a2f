/**
 * Files of a turn's answer: a line for each, and `--files`, which writes them to a folder.
 *
 * AnswerFiles.A1. A file's name begins with the turn's id and a number, so no two of them are one, and no name leaves the folder.
 */
import { FilePart, type Ids, type Message, type TurnState } from "@holdfast/wire"
import { ConversationsGroup } from "@holdfast/wire/api"
import { Effect, FileSystem, type PlatformError } from "effect"
import { Flag } from "effect/cli"
import * as path from "node:path"
import { causeOf } from "../../system/PlatformFailure.ts"
import { Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import * as MediaTypes from "../MediaTypes.ts"
import type { Refusal, ServiceClient, Unreachable } from "./ServiceClient.ts"

/** The flag. */
export const flag = Flag.String("files").pipe(
  Flag.withMetavar("FOLDER"),
  Flag.withDescription("Write the files of the answer, such as images, to this folder"),
  Flag.optional
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
  client: ServiceClient,
  { conversationId, turnId }: Pick<TurnState.TurnState, "conversationId" | "turnId">,
  folder: string
): Effect.fn.Return<ReadonlyArray<string>, Refused | Refusal | Unreachable, FileSystem.FileSystem> {
  const disk = yield* FileSystem.FileSystem
  const call = { path: `/v1/conversations/${conversationId}/messages` }
  const { messages } = yield* client.call(call, ConversationsGroup.Messages)
  const refused = (error: PlatformError.PlatformError) =>
    new Refused({ message: `--files: ${folder} cannot be written: ${causeOf(error)}.`, exitCode: ExitCode.FAILED })
  yield* Effect.mapError(disk.makeDirectory(folder, { recursive: true }), refused)
  return yield* Effect.forEach(bytesOf(messages, turnId), (file, at) => {
    const to = path.join(folder, nameOf(turnId, file, at))
    return Effect.as(Effect.mapError(disk.writeFile(to, Buffer.from(file.data, "base64")), refused), to)
  })
})

// --- internal

/** A file on one line: its type, size and name. */
const lineOf = ({ mediaType, name, sizeBytes, url }: TurnState.AnswerFile): string => {
  const where = sizeBytes === undefined ? `at ${url}` : FilePart.formatBytes(sizeBytes)
  return [mediaType, where, name].filter((word) => word !== undefined).join(" ")
}

/** The files with bytes in the last answer of a turn. */
const bytesOf = (messages: ReadonlyArray<Message.Message>, turnId: Ids.TurnId) => {
  const answer = messages.findLast((message) => message.role === "assistant" && message.turnId === turnId)
  return answer?.role === "assistant"
    ? answer.content.flatMap((part) => (part.type === "file" && "data" in part ? [part] : []))
    : []
}

/** AnswerFiles.A1. `at` is 0-based. */
const nameOf = (turnId: Ids.TurnId, { mediaType, name }: Message.ModelFile, at: number): string =>
  `${turnId}-${at + 1}${name === undefined ? `.${MediaTypes.endingOf(mediaType) ?? "bin"}` : `-${name}`}`
