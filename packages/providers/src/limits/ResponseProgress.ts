/**
 * Reports progress of a response that is not yet an event.
 *
 * A tool call is emitted only when it is complete (C7). A model that writes a long file as a call's arguments therefore emits nothing
 * for minutes without being stalled (C8). An adapter calls this function once for each read with progress; `Limits` provides it.
 */
import * as Context from "effect/Context"

/** The function to call on progress. Without a listener it has no effect. */
export const ResponseProgress: Context.Reference<() => void> = Context.Reference(
  "@holdfast/providers/ResponseProgress",
  {
    defaultValue: () => () => {}
  }
)
