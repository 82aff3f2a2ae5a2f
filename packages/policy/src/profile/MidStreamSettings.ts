/** The schema of what follows a failure after content, in a configuration (X7). */
import { TurnEvent } from "@holdfast/wire"

/** `fail`: nothing is retried. `discard`: the content is void, and the step is retried. `unseen`: the same, if no client received any of it. */
export const MidStreamSettings = TurnEvent.MidStream.annotate({ message: 'Expected "fail", "discard" or "unseen"' })
