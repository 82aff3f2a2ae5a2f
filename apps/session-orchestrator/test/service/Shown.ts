import type { TurnEvent } from "@holdfast/wire"

/** The text that a client shows in the end, without text that was declared void (rule X2). */
export const shown = (events: ReadonlyArray<TurnEvent.TurnEvent>): string => {
  let finished = ""
  let current = ""
  for (const event of events) {
    if (event.type === "text-delta") current += event.delta
    if (event.type === "step-discarded") current = ""
    if (event.type === "message") [finished, current] = [finished + current, ""]
  }
  return finished + current
}
