/**
 * Reads the messages of a chat: the prompt of the user's last message, and the id of its turn. Pure.
 *
 * The id of a turn follows from the ids of chat and message, so the same message sent again is the same turn.
 */
import { Ids, Prompt, Quote } from "@holdfast/wire"
import type { UiMessagesGroup } from "@holdfast/wire/api"
import { Result, Schema, SchemaIssue } from "effect"
import { createHash } from "node:crypto"

/** What the user's last message asks for. */
export interface Asked {
  readonly turnId: Ids.TurnId
  readonly prompt: Prompt.Prompt
}

/** Reads the last message; it must be the user's. Fails with what was wrong. */
export const asked = ({ id, messages }: UiMessagesGroup.SendUiMessages): Result.Result<Asked, string> => {
  const last = messages.at(-1)
  if (last === undefined) return Result.fail('"messages" is empty. Expected the message of the user as its last one.')
  if (last.role !== "user") {
    return Result.fail(
      `The last of "messages" has the role ${Quote.of(last.role)}. Expected "user": tools run in the service, and a page answers none.`
    )
  }
  const parts: Array<unknown> = []
  for (const part of last.parts) {
    const read = partOf(part)
    if (Result.isFailure(read)) return Result.fail(read.failure)
    if (read.success !== undefined) parts.push(read.success)
  }
  const decoded = decode(parts)
  return Result.isSuccess(decoded)
    ? Result.succeed({ turnId: turnIdOf(id, last.id), prompt: Prompt.plain(decoded.success) })
    : Result.fail(`The last of "messages" is no prompt: ${formatted(decoded.failure.issue)}`)
}

// --- internal

const turnIdOf = (chatId: string, messageId: string): Ids.TurnId =>
  Ids.TurnId.make(
    `chat-${createHash("sha256")
      .update(JSON.stringify([chatId, messageId]))
      .digest("hex")
      .slice(0, 40)}`
  )

const decode = Schema.decodeUnknownResult(Prompt.Prompt, { onExcessProperty: "error" })

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const formatted = (issue: SchemaIssue.Issue): string => {
  const { message, path = [] } = formatIssues(issue).issues[0] ?? { message: "it is not valid" }
  const where = path.map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".")
  return where === "" ? `${message}.` : `part ${where}: ${message}.`
}

/** A part as a prompt has it; `undefined` for parts that are no input, such as data of the page. */
const partOf = (part: UiMessagesGroup.UiMessage["parts"][number]): Result.Result<object | undefined, string> => {
  const { filename, mediaType, text, type, url } = part
  if (type === "text") return Result.succeed(text === "" ? undefined : { type, text })
  if (type !== "file") return Result.succeed(undefined)
  const described = { type, mediaType: typed(mediaType), ...(filename === undefined ? undefined : { name: filename }) }
  if (typeof url !== "string" || !url.startsWith("data:")) return Result.succeed({ ...described, url })
  const comma = url.indexOf(",")
  if (comma < 0) return Result.fail("A file has an address of the scheme data: without data.")
  const data = url.slice(comma + 1)
  if (/;base64$/i.test(url.slice(0, comma))) return Result.succeed({ ...described, data })
  try {
    return Result.succeed({ ...described, data: Buffer.from(decodeURIComponent(data)).toString("base64") })
  } catch {
    return Result.fail("A file has an address of the scheme data: that cannot be decoded.")
  }
}

/** Browsers add parameters, such as a charset. */
const typed = (mediaType: unknown): unknown =>
  typeof mediaType === "string" ? (mediaType.split(";", 1)[0] ?? "").trim().toLowerCase() : mediaType
