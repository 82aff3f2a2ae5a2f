/**
 * Makes a turn's optional ports from its policy: router, final report, compactor, limits.
 *
 * TurnPorts.P1. A turn whose policy sets none of this pays for none of it; the tokenizer is loaded for the first turn that counts tokens.
 */
import { defined } from "@holdfast/wire"
import { Compactor, type FinalReport, type Provider, type Router, type TurnLimits } from "@holdfast/kernel"
import { type Models, RetryPolicy } from "@holdfast/policy"
import * as ContextSize from "../tokens/ContextSize.ts"
import type * as Tokenizer from "../tokens/Tokenizer.ts"
import * as FinalReports from "../report/FinalReports.ts"
import * as TurnRouter from "./TurnRouter.ts"

/** The parts that the ports of all turns share. */
export interface Dependencies extends Omit<TurnRouter.Dependencies, "countTokens"> {
  readonly count: Tokenizer.Count
}

/** One turn, as its ports need it. */
export interface Setting extends TurnRouter.Setting {
  readonly provider: Provider.Provider["Service"]
}

/** The optional ports of one turn; `undefined`: the turn does without. */
export interface TurnPorts {
  readonly router: Router.Router["Service"] | undefined
  readonly report: FinalReport.FinalReport["Service"] | undefined
  readonly compactor: Compactor.Compactor["Service"]
  readonly limits: TurnLimits.TurnLimits | undefined
  readonly countTokens: Models.CountTokens
}

/** The ports of one turn. */
export const make = ({ count, ...dependencies }: Dependencies, setting: Setting): TurnPorts => {
  const countTokens: Models.CountTokens = (request) => ContextSize.of(request, count)
  return {
    router: TurnRouter.make({ ...dependencies, countTokens }, setting),
    report: FinalReports.make(setting.policy),
    compactor: Compactor.make(setting.provider), // rule P19
    limits: limitsOf(setting.policy, count),
    countTokens
  }
}

/** Whether turns of a policy count tokens (TurnPorts.P1). */
export const counts = (models: Dependencies["models"], policy: RetryPolicy.RetryPolicy): boolean =>
  policy.finalReport?.contextBudget !== undefined ||
  policy.spendGuard?.maxInputTokens !== undefined ||
  (policy.spendGuard?.maxTurnTokens !== undefined && RetryPolicy.mayVoid(policy)) || // the guard estimates void answers
  Object.values(models).some(({ contextWindow }) => contextWindow !== undefined)

// --- internal

/** Rules A11, C11. `undefined` if only the kernel's own limits apply: a turn without limits costs less. */
const limitsOf = (
  { finalReport, maxFailedToolSteps, maxResponseCharacters, maxTurns }: RetryPolicy.RetryPolicy,
  count: Tokenizer.Count
): TurnLimits.TurnLimits | undefined => {
  const budget = finalReport?.contextBudget
  if ([budget, maxFailedToolSteps, maxTurns, maxResponseCharacters].every((limit) => limit === undefined))
    return undefined
  const exceedsContext: TurnLimits.TurnLimits["exceedsContext"] | undefined =
    budget === undefined ? undefined : (prospect) => ContextSize.of(prospect, count) > budget
  return defined({ maxFailedToolSteps, maxResponseCharacters, maxTurns, exceedsContext })
}
