/**
 * Computes a request's size in tokens: provider's last count plus later messages (A11, P8).
 *
 * ContextSize.S1. A provider's count has precedence: the input and output tokens of an answer are the size of everything up to it.
 * ContextSize.S2. A message is counted once, however often it is sent.
 */
import type { Provider } from "@holdfast/kernel"
import type { Message } from "@holdfast/wire"
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
      ? (known.usage?.inputTokens ?? 0) + (known.usage?.outputTokens ?? 0) // ContextSize.S1
      : count(system ?? "") + tools.reduce((sum, tool) => sum + FRAME + count(JSON.stringify(tool)), 0)
  return messages.slice(last + 1).reduce((sum, message) => sum + sizeOf(message, count), before)
}

/** A quick estimate for texts on which a tokenizer would take too long; English has some 4 characters a token. */
export const estimate: Count = (text) => Math.ceil(text.length / 4)

/** The approximate memory of messages, in characters. */
export const charactersOf = (messages: ReadonlyArray<Message.Message>): number =>
  messages.reduce((sum, { content }) => content.reduce((sum, part) => sum + textOf(part).length, sum + ENVELOPE), 0)

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

/** The counts, by counter and message, so that a count is collected with its message (ContextSize.S2). */
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
  const size = FRAME + message.content.reduce((sum, part) => sum + count(textOf(part)), 0)
  sizes.set(message, size)
  return size
}

const textOf = (part: Message.Message["content"][number]): string => {
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
