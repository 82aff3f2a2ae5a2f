/**
 * What is summed up and what is kept, and how a model is asked for a summary. Plain functions.
 *
 * Y1. A call of a tool is kept or summed up together with its results.
 * Y2. The newest message is kept, however long it is.
 * Y3. Sizes are in characters: nothing here knows a model's window or its tokens. All that is known of a context that is too
 *     long is that it is longer than the window, so limits are shares of it.
 */
import type { Ids, Message } from "@holdfast/wire"

/** How a context is divided. */
export interface Options {
  /** How much of the context is kept as it is, from 0 to 1. The newest message always is, the oldest never. */
  readonly keepShare?: number
}

/** The newest quarter is what a model is in the middle of; with a summary beside it there is room to work again. */
export const KEEP_SHARE = 0.25

/**
 * What is sent to be summed up must fit where all of it did not, with room for the summary. Most of it has been sent before,
 * and did fit: what made the context too long is its newest part.
 */
export const TRANSCRIPT_SHARE = 0.8

/** Of a message that has to be cut: below this its beginning and end say nothing any more. */
export const LEAST_CHARACTERS = 250

/** Long texts are mostly what tools answered; more than this of one is not needed to sum it up. */
export const MOST_CHARACTERS = 16_000

/** Some 1,000 tokens: little beside any window in use, and room for what a long turn has found out. */
export const SUMMARY_WORDS = 750

/** What the model is to do. */
export const SYSTEM = `You are given the older part of a conversation between a user and an assistant, because it has become too long to go on with. Write the summary that will stand in its place.

Keep what the assistant needs to go on as if nothing had been left out: what the user asked for, with every condition and wish, verbatim where it is short; what was decided and why; facts, names, paths, numbers, identifiers and quotations that were found; which tools were called and what came of it; what is done, and what is still to be done.

Write in the language of the conversation, in at most ${SUMMARY_WORDS} words, without a preamble. Do not answer the user and do not go on with the work.`

/** What is to be summed up, as it is asked of a model. */
export interface Plan {
  /** The last message that is summed up. */
  readonly upTo: Ids.MessageId
  /** What the model is given. */
  readonly prompt: Message.UserMessage
}

/** What to sum up; `undefined` where there is nothing. */
export const plan = (
  messages: ReadonlyArray<Message.Message>,
  { keepShare = KEEP_SHARE }: Options
): Plan | undefined => {
  const sizes = messages.map(sizeOf)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const cut = cutOf(messages, sizes, total * keepShare)
  const older = messages.slice(0, cut)
  const last = older.at(-1)
  if (last === undefined || isSummary(last)) return undefined
  const { createdAt, id, turnId } = last
  const content = [{ type: "text" as const, text: transcript(older, total * TRANSCRIPT_SHARE) }]
  return { upTo: id, prompt: { role: "user", id, turnId, createdAt, content } }
}

/** Whether a message stands for others. */
export const isSummary = (message: Message.Message): boolean => message.role === "user" && message.summary !== undefined

// --- internal

/** The index of the first message that is kept. */
const cutOf = (messages: ReadonlyArray<Message.Message>, sizes: ReadonlyArray<number>, keep: number): number => {
  let cut = messages.length
  let kept = 0
  for (let i = messages.length - 1; i > 0; i--) {
    kept += sizes[i] ?? 0
    if (kept > keep && cut < messages.length) break // Y2
    if (messages[i]?.role !== "tool") cut = i // Y1
  }
  return cut === messages.length ? 0 : cut
}

const sizeOf = (message: Message.Message): number => partsOf(message).reduce((sum, part) => sum + part.length, 0)

/** What a message says, a line or more each. What led there, the reasoning, is left out. */
const partsOf = (message: Message.Message): ReadonlyArray<string> => {
  switch (message.role) {
    case "user": {
      const who = isSummary(message) ? "Summary of what was before" : "User"
      return message.content.map((part) => `${who}:\n${textOf(part)}`)
    }
    case "assistant":
      return message.content.flatMap((part) => {
        if (part.type === "reasoning") return []
        return part.type === "text" ? [`Assistant:\n${textOf(part)}`] : [`Assistant called ${textOf(part)}`]
      })
    case "tool":
      return message.content.map((part) => `Result of ${textOf(part)}`)
    default:
      return message satisfies never
  }
}

type Part = Message.TextPart | Message.ToolCallPart | Message.ToolResultPart

const textOf = (part: Part): string => {
  switch (part.type) {
    case "text":
      return part.text
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

/** The messages as a text of at most so many characters: the longest parts are cut first, and then the oldest left out. */
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
  // A cut may fall into a character of two halves, which no provider takes.
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters …]\n${text.slice(-half)}`.toWellFormed()
}
