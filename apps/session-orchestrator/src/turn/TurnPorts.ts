/**
 * What the policy of a turn gives it besides its waits: where its attempts may go, how it has to end, and how its context is kept
 * small enough.
 *
 * P1. A turn whose policy says nothing of all this pays for none of it; the tokenizer is loaded for the first that counts.
 */
import { Compactor, type FinalReport, type Provider, type Router, type TurnLimits } from "@holdfast/kernel"
import type { Models, RetryPolicy } from "@holdfast/policy"
import { Effect } from "effect"
import * as ContextSize from "../tokens/ContextSize.ts"
import type * as Tokenizer from "../tokens/Tokenizer.ts"
import * as FinalReports from "../report/FinalReports.ts"
import * as Routers from "./Routers.ts"

/** What the ports of all turns have in common. */
export interface Dependencies extends Omit<Routers.Dependencies, "countTokens"> {
  readonly tokenizer: Effect.Effect<Tokenizer.Count>
}

export interface Setting extends Routers.Setting {
  readonly provider: Provider.Provider["Service"]
}

export interface TurnPorts {
  readonly router: Router.Router["Service"] | undefined
  readonly report: FinalReport.FinalReport["Service"] | undefined
  readonly compactor: Compactor.Compactor["Service"]
  readonly limits: TurnLimits.TurnLimits | undefined
  readonly countTokens: Models.CountTokens
}

/** The ports of one turn. */
export const make = (dependencies: Dependencies, setting: Setting): Effect.Effect<TurnPorts> =>
  Effect.map(counterOf(dependencies, setting.policy), (count) => {
    const countTokens: Models.CountTokens = (request) => ContextSize.of(request, count)
    return {
      router: Routers.make({ ...dependencies, countTokens }, setting),
      report: FinalReports.make(setting.policy),
      compactor: Compactor.make(setting.provider), // P19
      limits: limitsOf(setting.policy, count),
      countTokens
    }
  })

/** The limits of a turn that chooses no target, ends with words and counts no tokens; `undefined` for any other. */
export const plain = (
  { credentials, models }: Pick<Dependencies, "credentials" | "models">,
  policy: RetryPolicy.RetryPolicy
): { readonly limits: TurnLimits.TurnLimits | undefined } | undefined =>
  policy.finalReport !== undefined || counts(models, policy) || Routers.hasElsewhere(policy, credentials)
    ? undefined
    : { limits: limitsOf(policy, () => 0) }

// --- internal

const counts = (models: Dependencies["models"], { finalReport, spendGuard }: RetryPolicy.RetryPolicy): boolean =>
  finalReport?.contextBudget !== undefined ||
  spendGuard?.maxInputTokens !== undefined ||
  Object.values(models).some(({ contextWindow }) => contextWindow !== undefined)

/** P1 */
const counterOf = (
  { models, tokenizer }: Dependencies,
  policy: RetryPolicy.RetryPolicy
): Effect.Effect<Tokenizer.Count> => (counts(models, policy) ? tokenizer : UNCOUNTED)

const UNCOUNTED = Effect.succeed<Tokenizer.Count>(() => 0)

/** A11, C11. Nothing, where the kernel's own limits are all there is: a turn without limits costs less. */
const limitsOf = (
  { finalReport, maxFailedToolSteps, maxResponseCharacters, maxTurns }: RetryPolicy.RetryPolicy,
  count: Tokenizer.Count
): TurnLimits.TurnLimits | undefined => {
  const budget = finalReport?.contextBudget
  if ([budget, maxFailedToolSteps, maxTurns, maxResponseCharacters].every((limit) => limit === undefined))
    return undefined
  return {
    ...(maxFailedToolSteps === undefined ? undefined : { maxFailedToolSteps }),
    ...(maxResponseCharacters === undefined ? undefined : { maxResponseCharacters }),
    ...(maxTurns === undefined ? undefined : { maxTurns }),
    ...(budget === undefined ? undefined : { exceedsContext: (prospect) => ContextSize.of(prospect, count) > budget })
  }
}
