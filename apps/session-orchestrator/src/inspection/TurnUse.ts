/**
 * Finds the tokens that a turn has used, with the time of each call, from its row and its records. Pure.
 *
 * TurnUse.U1. The tokens of a turn that has ended add up to those of its end; its last call has what its records lack.
 */
import { Prices } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import type { SpendReading } from "../conversation/Defaults.ts"
import * as Account from "../recovery/Account.ts"
import type * as SpendSums from "../spend/limits/SpendSums.ts"
import * as Usage from "../spend/Usage.ts"
import type { TurnRow } from "../storage/Lists.ts"
import * as TurnFacts from "./period/TurnFacts.ts"
import * as TurnReport from "./TurnReport.ts"

/** Reads what turns have used. */
export const reading: SpendReading = {
  needsRecords: TurnFacts.needsRecords,
  of: (row, records) => {
    const account = Account.of(records)
    return { uses: of(row, account), wasAsked: account.attempts.some(wasAsked) }
  }
}

/** The tokens of a turn until now. */
export const of = ({ model, turn: { end } }: TurnRow, account: Account.Account): ReadonlyArray<SpendSums.Use> => {
  const uses = account.attempts.flatMap(({ outcome, target = model }): ReadonlyArray<SpendSums.Use> => {
    if (outcome === undefined || !("usage" in outcome) || outcome.usage === undefined) return []
    const { endedAt = end?.endedAt ?? 0 } = outcome
    return [{ target, tokens: Usage.tokensOf(outcome.usage), at: endedAt }]
  })
  if (end === undefined) return uses
  const last = TurnReport.lastTargetOf(account) ?? model
  const counted = uses.reduce((sum, { tokens }) => Prices.add(sum, tokens), Prices.NO_TOKENS)
  return [...uses, ...Usage.rest(end, counted, last)]
}

// --- internal

/** Its question is on disk. A turn whose process died before that still has to ask. */
const wasAsked = ({ outcome, wakes }: Account.AttemptAccount): boolean =>
  outcome?._tag === "Failed" && Failure.isOfSpendLimit(outcome.failure) && wakes.some(({ type }) => type === "asked")
