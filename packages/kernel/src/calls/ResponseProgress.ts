/**
 * Reports progress of a response that is not yet an event.
 *
 * A tool call is emitted only when it is complete (C7). A model that writes a long file as a call's arguments therefore emits nothing
 * for minutes without being stalled (C8). A provider that is a stream calls this function once for each read with progress; `ProviderCall`
 * passes it on to its listener.
 */
import * as Context from "effect/Context"

/** The function to call on progress. Without a listener it has no effect. */
export const ResponseProgress: Context.Reference<() => void> = Context.Reference("@holdfast/kernel/ResponseProgress", {
  defaultValue: () => () => {}
})
