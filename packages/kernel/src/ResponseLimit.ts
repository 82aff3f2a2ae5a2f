/**
 * The bound of one response as a whole: text, reasoning and tool arguments together (C11).
 *
 * An adapter holds to it while it puts tool calls together, because nothing of them reaches the kernel before they are whole. The
 * kernel holds every provider to it.
 */
import { type Failure, JsonShape } from "@holdfast/wire"

/** Characters, where nothing else is configured: some 4 million tokens, far beyond what a model answers. */
export const MOST_CHARACTERS = 16 * 1024 * 1024

/** The limit of what answers a request. */
export const of = ({ maxResponseCharacters }: { readonly maxResponseCharacters?: number }): number =>
  maxResponseCharacters ?? MOST_CHARACTERS

/** What each part counts besides its characters, so that parts without any are bounded too. */
export const PART_CHARACTERS = 64

/** What an attempt has failed with whose response is longer than `most` characters. A retry would only bring it again. */
export const exceeded = (most: number): Failure.Failure => ({
  reason: "invalid-response",
  message: `The response is longer than ${most} characters of text, reasoning and tool arguments together.`,
  retryable: false
})

/** Why a call is malformed whose arguments are nested too deeply (A10). */
export const TOO_DEEP = `The arguments are nested deeper than ${JsonShape.MOST_LEVELS} levels.`
