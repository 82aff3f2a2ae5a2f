/**
 * Divides a context for compaction and builds the summary's prompt. Pure.
 *
 * - A tool call is kept or summed up together with its results.
 * - The newest message is kept, however long it is.
 * - Sizes are in characters, because a model's window and tokenizer are unknown here. A context that is too long is longer than
 *   the window, so limits are shares of its length.
 */
import { FilePart, type Ids, type Message } from "@holdfast/wire"

/** The options of a summary. */
export interface Options {
  /** The share of the context that is kept unchanged, from 0 to 1. The newest message is always kept, the oldest never. */
  readonly keepShare?: number
}

/** The default: the newest quarter is the work in progress; with a summary beside it there is room for more work. */
const KEEP_SHARE = 0.25

/**
 * The transcript for the summary must fit into a window that the whole context exceeded, with room for the summary. Most of it was sent
 * before and did fit: the newest part made the context too long.
 */
export const TRANSCRIPT_SHARE = 0.8

/** The least length of a message that is cut: below this its beginning and end are useless. */
export const LEAST_CHARACTERS = 250

/** Long texts are mostly results of tools; a summary needs no more than this of one message. */
export const MOST_CHARACTERS = 16_000

/** The instruction for the model. 750 words are some 1,000 tokens: small beside any window in use, and enough for the findings of a long turn. */
export const SYSTEM = `You are given the older part of a conversation between a user and an assistant, because it has become too long to go on with. Write the summary that will stand in its place.

Keep what the assistant needs to go on as if nothing had been left out: what the user asked for, with every condition and wish, verbatim where it is short; what was decided and why; facts, names, paths, numbers, identifiers and quotations that were found; which tools were called and what came of it; what is done, and what is still to be done.

Write in the language of the conversation, in at most 750 words, without a preamble. Do not answer the user and do not go on with the work.`

/** The part of a context to sum up, as a prompt for the model. */
export interface Plan {
  /** The last message that is summed up. */
  readonly upTo: Ids.MessageId
  /** The transcript for the model. */
  readonly prompt: Message.UserMessage
}

/** Returns the part to sum up; `undefined`: there is none. */
export const plan = (
  messages: ReadonlyArray<Message.Message>,
  { keepShare = KEEP_SHARE }: Options
): Plan | undefined => {
  const sized = messages.map((message, i) => ({ i, role: message.role, size: sizeOf(message) }))
  const total = sized.reduce((sum, { size }) => sum + size, 0)
  const cut = cutOf(sized, total * keepShare)
  const older = messages.slice(0, cut)
  const last = older.at(-1)
  if (last === undefined || isSummary(last)) return undefined
  const { createdAt, id, turnId } = last
  const content = [{ type: "text" as const, text: transcript(older, total * TRANSCRIPT_SHARE) }]
  return { upTo: id, prompt: { role: "user", id, turnId, createdAt, content } }
}

/** Whether a message is a summary, which replaces others. */
export const isSummary = (message: Message.Message): boolean => message.role === "user" && message.summary !== undefined

// --- internal

/** The index of the first message that is kept. */
const cutOf = (
  messages: ReadonlyArray<{ readonly i: number; readonly role: string; readonly size: number }>,
  keep: number
): number => {
  let cut: number | undefined
  let kept = 0
  for (const { i, role, size } of messages.slice(1).toReversed()) {
    kept += size
    if (kept > keep && cut !== undefined) break // the newest message is kept
    if (role !== "tool") cut = i // a call is kept with its results
  }
  return cut ?? 0
}

const sizeOf = (message: Message.Message): number => partsOf(message).reduce((sum, part) => sum + part.length, 0)

/** The texts of a message, one or more lines each. Reasoning is left out. */
const partsOf = (message: Message.Message): ReadonlyArray<string> => {
  switch (message.role) {
    case "user": {
      const who = isSummary(message) ? "Summary of what was before" : "User"
      return message.content.map((part) => `${who}:\n${textOf(part)}`)
    }
    case "assistant":
      return message.content.flatMap((part) => {
        if (part.type === "reasoning") return []
        return [`Assistant${part.type === "tool-call" ? " called " : ":\n"}${textOf(part)}`]
      })
    case "tool":
      return message.content.map((part) => `Result of ${textOf(part)}`)
    default:
      return message satisfies never
  }
}

type Part = Message.InputPart | Message.ToolCallPart | Message.ToolResultPart

const textOf = (part: Part): string => {
  switch (part.type) {
    case "text":
      return part.text
    case "file":
      return FilePart.placeholderOf(part)
    case "tool-call":
      return `${part.toolName}: ${plain(part.input)}`
    case "tool-result":
      return `${part.toolName}${part.isError ? " (it failed)" : ""}: ${plain(part.output)}`
    default:
      return part satisfies never
  }
}

const plain = (value: Message.ToolCallPart["input"]): string =>
  typeof value === "string" ? value : JSON.stringify(value)

/** The messages as a text of at most `atMost` characters: first the longest parts are cut, then the oldest are left out. */
const transcript = (messages: ReadonlyArray<Message.Message>, atMost: number): string => {
  const parts = messages.flatMap(partsOf)
  for (let most = MOST_CHARACTERS; most >= LEAST_CHARACTERS; most *= 0.75) {
    const text = parts.map((part) => shortened(part, most)).join("\n\n")
    if (text.length <= atMost) return text
  }
  const text = parts.map((part) => shortened(part, LEAST_CHARACTERS)).join("\n\n")
  return `[The beginning was left out.]\n${text.slice(-Math.floor(atMost)).toWellFormed()}`
}

const shortened = (text: string, most: number): string => {
  if (text.length <= most) return text
  const half = Math.floor(most / 2)
  // A cut may split a surrogate pair, which no provider accepts.
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters …]\n${text.slice(-half)}`.toWellFormed()
}
