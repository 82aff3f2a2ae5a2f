/**
 * Holds a response's token counts until they may be emitted.
 *
 * Usage is content, so counts that a provider sends ahead of its output wait for output: an overload right after the preamble is
 * still before content (P1 of the Provider port). They are emitted twice at most, with the first output and at the end.
 */
import type { Provider } from "@holdfast/kernel"
import type { Message } from "@holdfast/wire"

/** The token counts of one response. */
export type UsageMeter = ReturnType<typeof make>

/** A meter without counts. */
export const make = () => {
  let current: Message.Usage = {}
  let isTold = true
  let isFirst = true
  const last = (out: Array<Provider.ProviderEvent>): void => {
    if (isTold) return
    isTold = true
    isFirst = false
    out.push({ type: "usage", usage: current })
  }
  return {
    /** Replaces the counts. */
    set: (usage: Message.Usage): void => {
      current = usage
      isTold = Object.keys(usage).length === 0
    },
    get: () => current,
    /** Emits the first counts; to be called with output. */
    first: (out: Array<Provider.ProviderEvent>): void => {
      if (isFirst) last(out)
    },
    /** Emits the last counts, unless they have been emitted. */
    last
  }
}
