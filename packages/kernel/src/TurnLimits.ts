/** How far a turn may go before it has to come to its end (A11), and how long each response may be (C11). */
import type { Message } from "@holdfast/wire"
import type { ProviderRequest } from "./Provider.ts"

/** Four corrections by the tools' own words are enough for a model that can use them. */
export const MOST_FAILED_TOOL_STEPS = 5

/** What a model would be asked next. */
export interface Prospect extends Pick<ProviderRequest, "messages" | "tools" | "target"> {
  readonly system: string | undefined
  /** What the last response of the turn cost, where its provider said so. */
  readonly usage: Message.Usage | undefined
}

/** Absent means none, unless it says otherwise. */
export interface TurnLimits {
  /** The most steps; at least 1. The last of them is the final one. */
  readonly maxTurns?: number
  /** Steps in a row with nothing but failed tool calls, after which the turn fails; 0: no limit; absent: `MOST_FAILED_TOOL_STEPS`. */
  readonly maxFailedToolSteps?: number
  /** Characters of one response, at least 1; absent: `ResponseLimit.MOST_CHARACTERS`. */
  readonly maxResponseCharacters?: number
  /**
   * Whether a request would be too long for its target. Pure, and asked once a step.
   *
   * **Gotchas**
   *
   * It is asked before the step has a route: `target` is where the last attempt went.
   */
  readonly exceedsContext?: (prospect: Prospect) => boolean
}
