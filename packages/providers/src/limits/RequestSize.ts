/**
 * Refuses a request that is too large to be sent, before its call.
 *
 * A body is sent as one text, and V8 has a limit for texts. Files of a long conversation reach it: no message is that long alone.
 *
 * RequestSize.R1. The failure is never retried: the request would fail the same way.
 * RequestSize.R2. Texts and files are counted, and what the format adds to them is not: the body is a little larger. Nothing is copied.
 */
import type { Provider } from "@holdfast/kernel"
import { Failure, type Message } from "@holdfast/wire"

/** The most characters of a request: those of V8's longest text. */
export const MOST_CHARACTERS = 2 ** 29 - 24

/** The failure of a request that is too large; `undefined`: it is not. */
export const refusalOf = ({
  messages,
  system
}: Pick<Provider.ProviderRequest, "messages" | "system">): Failure.ProviderFailure | undefined => {
  const size = messages.reduce((size, { content }) => size + charactersIn(content), system?.length ?? 0)
  if (size <= MOST_CHARACTERS) return undefined
  const message = `The request has ${size} characters of at most ${MOST_CHARACTERS}. Nothing was sent. Begin a new conversation with fewer files.`
  return new Failure.ProviderFailure({
    failure: { reason: "bad-request", code: "request-too-large", message, retryable: false }
  })
}

// --- internal

type Part = Message.InputPart | Message.AssistantPart | Message.ToolResultPart

const charactersIn = (parts: ReadonlyArray<Part>): number => parts.reduce((size, part) => size + charactersOf(part), 0)

const charactersOf = (part: Part): number => {
  if ("text" in part) return part.text.length
  if ("data" in part) return part.data.length
  if (!("output" in part)) return 0 // a call, or a file at an address
  return part.content ? charactersIn(part.content) : typeof part.output === "string" ? part.output.length : 0
}
