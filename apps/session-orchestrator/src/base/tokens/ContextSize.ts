/**
 * Computes a request's size in tokens: provider's last count plus later messages (A11, P8).
 *
 * A provider's count has precedence: the input and output tokens of an answer are the size of everything up to it. A message is counted
 * once, however often it is sent.
 */
import type { Provider } from "@holdfast/kernel"
import { FilePart, type Message } from "@holdfast/wire"
import type { Count } from "./Tokenizer.ts"

/** The parts of a request that take tokens. */
type Request = Pick<Provider.ProviderRequest, "messages" | "tools"> & { readonly system: string | undefined }

/** The overhead of one message or tool in the providers' formats, in tokens; OpenAI's cookbook counts 3 to 4. */
const FRAME = 4

/** The size of a request in tokens. */
export const of = ({ messages, system, tools }: Request, count: Count): number => {
  const last = messages.findLastIndex(isCounted)
  const known = messages[last]
  const before =
    known?.role === "assistant"
      ? (known.usage?.inputTokens ?? 0) + (known.usage?.outputTokens ?? 0)
      : count(system ?? "") + tools.reduce((sum, tool) => sum + FRAME + count(JSON.stringify(tool)), 0)
  return messages.slice(last + 1).reduce((sum, message) => sum + sizeOf(message, count), before)
}

/** A quick estimate for texts on which a tokenizer would take too long; English has some 4 characters a token. */
export const estimate: Count = (text) => Math.ceil(text.length / 4)

/** The approximate memory of messages, in characters. */
export const charactersOf = (messages: ReadonlyArray<Message.Message>): number =>
  messages.reduce((sum, { content }) => content.reduce((sum, part) => sum + charactersOfPart(part), sum + ENVELOPE), 0)

/** The same for the parts of a prompt. */
export const charactersOfParts = (parts: ReadonlyArray<Message.InputPart> | undefined): number =>
  (parts ?? []).reduce((sum, part) => sum + charactersOfPart(part), 0)

// --- internal

/** The memory of a message besides its text, in characters: its ids and objects. */
const ENVELOPE = 256

/** A summary replaces messages that are not sent any more, so a provider's count from before the summary does not apply. */
const isCounted = (message: Message.Message, at: number, all: ReadonlyArray<Message.Message>): boolean =>
  message.role === "assistant" &&
  message.usage?.inputTokens !== undefined &&
  !all
    .slice(0, at)
    .some((earlier) => earlier.role === "user" && earlier.summary !== undefined && isLater(earlier, message))

const isLater = (a: Message.Message, b: Message.Message): boolean => a.createdAt > b.createdAt

/** The counts, by counter and message, so that a count is collected with its message. */
const counted = new WeakMap<Count, WeakMap<Message.Message, number>>()

const sizesBy = (count: Count): WeakMap<Message.Message, number> => {
  const known = counted.get(count) ?? new WeakMap()
  counted.set(count, known)
  return known
}

const sizeOf = (message: Message.Message, count: Count): number => {
  const sizes = sizesBy(count)
  const known = sizes.get(message)
  if (known !== undefined) return known
  const size = FRAME + message.content.reduce((sum, part) => sum + tokensOf(part, count), 0)
  sizes.set(message, size)
  return size
}

type Part = Message.Message["content"][number]

const charactersOfPart = (part: Part): number => {
  if (part.type === "file") return "data" in part ? part.data.length : part.url.length
  const own = textOf(part).length
  return part.type === "tool-result" && part.content !== undefined
    ? part.content.reduce((sum, inner) => sum + charactersOfPart(inner), own)
    : own
}

const tokensOf = (part: Part, count: Count): number => {
  if (part.type === "file") return fileTokens(part)
  if (part.type === "tool-result" && part.content !== undefined)
    return part.content.reduce((sum, inner) => sum + tokensOf(inner, count), 0)
  return count(textOf(part))
}

/** The most that Anthropic counts for an image; OpenAI's are smaller. (Claude API documentation, "Vision") */
const IMAGE_TOKENS = 1_600

/** A page of a PDF has some 60 kB and 2,000 tokens; of sound in MP3 a second has 16 kB and 10 tokens. */
const BYTES_PER_TOKEN = 30

/** A file's tokens before a provider has counted them: an estimate by its type and size. */
const fileTokens = (part: FilePart.FilePart): number => {
  const kind = FilePart.kindOf(part)
  if (kind === "image" || !("data" in part)) return IMAGE_TOKENS
  // Base64 has 4 characters for 3 bytes, and a text some 4 characters a token.
  return kind === "text" ? Math.ceil(FilePart.sizeOf(part) / 4) : Math.ceil(FilePart.sizeOf(part) / BYTES_PER_TOKEN)
}

const textOf = (part: Exclude<Part, FilePart.FilePart>): string => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text
    case "tool-call":
      return `${part.toolName}${JSON.stringify(part.input)}`
    case "tool-result":
      return typeof part.output === "string" ? part.output : JSON.stringify(part.output)
    default:
      return part satisfies never
  }
}
