/**
 * Refuses a request that is too large to be sent, before its call.
 *
 * A body is sent as one text, and V8 has a limit for texts. Files of a long conversation reach it: no message is that long alone.
 *
 * - The failure is never retried: the request would fail the same way.
 * - Texts, files, arguments and results of tools are counted as JSON has them, with its escapes. What the format adds is not counted: the
 *   body is a little larger.
 * - Escapes are looked for only where the request could be too large with them: no request of 89 million characters is read for that.
 */
import type { Provider } from "@holdfast/kernel"
import { Failure, JsonShape, type Message } from "@holdfast/wire"
import type * as Schema from "effect/Schema"

/** The most characters of a request: those of V8's longest text. */
export const MOST_CHARACTERS = 2 ** 29 - 24

/** The failure of a request that is too large; `undefined`: it is not. */
export const refusalOf = ({
  messages,
  system
}: Pick<Provider.ProviderRequest, "messages" | "system">): Failure.ProviderFailure | undefined => {
  const size = sizeOf(messages, system, (value) => JsonShape.measure(value).characters)
  if (size * LONGEST_ESCAPE <= MOST_CHARACTERS) return undefined
  const written = sizeOf(messages, system, writtenLengthOf)
  if (written <= MOST_CHARACTERS) return undefined
  const message = `The request has ${written} characters of at most ${MOST_CHARACTERS}. Begin a new conversation.`
  return new Failure.ProviderFailure({
    failure: { reason: "bad-request", code: "request-too-large", message, retryable: false }
  })
}

// --- internal

type Part = Message.InputPart | Message.AssistantPart | Message.ToolResultPart

/** Of a character in JSON: `\u0000`. */
const LONGEST_ESCAPE = 6

type LengthOf = (value: Schema.Json) => number

const sizeOf = (messages: ReadonlyArray<Message.Message>, system = "", lengthOf: LengthOf): number =>
  messages.reduce((size, { content }) => size + charactersIn(content, lengthOf), lengthOf(system))

const charactersIn = (parts: ReadonlyArray<Part>, lengthOf: LengthOf): number =>
  parts.reduce((size, part) => size + charactersOf(part, lengthOf), 0)

const charactersOf = (part: Part, lengthOf: LengthOf): number => {
  if ("text" in part) return lengthOf(part.text)
  if ("data" in part) return part.data.length // base64
  if ("input" in part) return lengthOf(part.input)
  if (!("output" in part)) return 0 // a file at an address
  const { content, output } = part
  return content ? charactersIn(content, lengthOf) : lengthOf(output)
}

/** The characters of a text within a text of JSON. Another value is sent as a text of JSON by most formats. */
const writtenLengthOf: LengthOf = (value) => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  let length = text.length
  for (const character of text)
    if (SHORT_ESCAPES.includes(character)) length++
    else if (character < " ") length += LONGEST_ESCAPE - 1
  return length
}

/** The characters whose escapes have two. */
const SHORT_ESCAPES = '\b\t\n\f\r"\\'
