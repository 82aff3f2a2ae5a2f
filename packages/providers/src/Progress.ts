/**
 * Progress that is not yet an event.
 *
 * A tool call is told whole (C7), so a model that writes a long file as a call's arguments says nothing for minutes and is
 * anything but stalled (C8). An adapter calls this once for each read that brought it further; a limit listens.
 */
import { Context } from "effect"

export const Progress: Context.Reference<() => void> = Context.Reference("@holdfast/providers/Progress", {
  defaultValue: () => () => {}
})
