/** Seals a turn that its host does not run any more. */
import type { Failure, TurnEvent } from "@holdfast/wire"
import { eventOf } from "../internal/machine/Batch.ts"
import { CANCELLED } from "../internal/machine/Decisions.ts"
import { ending, type Tally } from "../internal/machine/Ending.ts"
import type { TurnFacts } from "../internal/machine/Ledger.ts"
import { discarded, LOST } from "../internal/machine/Responses.ts"

export type { Tally }

/**
 * Returns the last events of a turn that its host seals without running it, after a defect of the host or repeated deaths of its process
 * (C10, X14).
 *
 * **Details**
 *
 * They follow all recorded events of the turn. `unclosed` is the last attempt of a chain of retries without a `retry-end` (P11);
 * `discarded` is the step whose shown text is void (X2).
 */
export const sealing = (
  identity: Pick<TurnFacts, "conversationId" | "turnId">,
  tally: Tally,
  outcome: {
    readonly status: "failed" | "aborted"
    readonly failure: Failure.Failure
    readonly endedAt: number
    readonly unclosed: number | undefined
    readonly discarded: number | undefined
  }
): { readonly events: ReadonlyArray<TurnEvent.PersistedEvent>; readonly end: TurnEvent.TurnEnd } => {
  const { endedAt, status, unclosed: attempt } = outcome
  const failure = status === "failed" ? outcome.failure : undefined
  const [end, ...errors] = ending(identity, tally, { status, failure, report: undefined, endedAt })
  const finalError = failure?.message ?? CANCELLED
  const shown = outcome.discarded === undefined ? [] : [discarded(identity, outcome.discarded, LOST)]
  const chain =
    attempt === undefined ? [] : [eventOf(identity, { type: "retry-end", attempt, success: false, finalError })]
  return { events: [...shown, ...chain, ...errors, end], end }
}
