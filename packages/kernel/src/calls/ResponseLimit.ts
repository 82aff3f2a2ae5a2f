/**
 * Bounds one response: text, reasoning, files in base64 and tool arguments together (C11).
 *
 * An adapter applies it while it assembles tool calls, because they reach the kernel only when they are whole. The kernel applies it to
 * every provider.
 */
import { type Failure, JsonShape } from "@holdfast/wire"

/** The default, in characters: some 4 million tokens, far more than any model's response. */
export const MOST_CHARACTERS = 16 * 1024 * 1024

/** Returns the limit for the response to a request, in characters. */
export const of = ({ maxResponseCharacters }: { readonly maxResponseCharacters?: number }): number =>
  maxResponseCharacters ?? MOST_CHARACTERS

/** Characters that each part counts in addition to its own, so that empty parts are bounded too. */
export const PART_CHARACTERS = 64

/** The failure of an attempt whose response is longer than `most` characters. It is final: a retry would produce it again. */
export const exceeded = (most: number): Failure.Failure => ({
  reason: "invalid-response",
  message: `The response is longer than ${most} characters of text, reasoning, files and tool arguments together.`,
  retryable: false
})

/** The reason why a tool call with too deeply nested arguments is malformed (A10). */
export const TOO_DEEP = `The arguments are nested deeper than ${JsonShape.MOST_LEVELS} levels.`
