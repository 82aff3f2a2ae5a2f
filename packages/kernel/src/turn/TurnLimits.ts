/** Limits of a turn: its steps and context (A11), and the length of a response (C11). */
import type { Message } from "@holdfast/wire"
import type { ProviderRequest } from "../ports/Provider.ts"

/** The default: four error messages of tools are enough for a model that can correct itself. */
export const MOST_FAILED_TOOL_STEPS = 5

/** The next request to the model. */
export interface Prospect extends Pick<ProviderRequest, "messages" | "tools" | "target"> {
  readonly system: string | undefined
  /** The usage of the turn's last response, if its provider reported it. */
  readonly usage: Message.Usage | undefined
}

/** The limits of a turn. Absent means no limit, unless the field names a default. */
export interface TurnLimits {
  /** The largest number of steps; at least 1. The last of them is the final step. */
  readonly maxTurns?: number
  /** Steps in a row with nothing but failed tool calls, after which the turn fails; 0: no limit; absent: `MOST_FAILED_TOOL_STEPS`. */
  readonly maxFailedToolSteps?: number
  /** Characters of one response, at least 1; absent: `ResponseLimit.MOST_CHARACTERS`. */
  readonly maxResponseCharacters?: number
  /**
   * Whether a request would be too long for its target. Pure; called once a step.
   *
   * **Gotchas**
   *
   * It is called before the step has a route: `target` is that of the last attempt.
   */
  readonly exceedsContext?: (prospect: Prospect) => boolean
}
