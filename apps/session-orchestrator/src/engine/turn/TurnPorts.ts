/**
 * Makes the optional ports of one turn: its router, whose findings about targets are read from and written to the database, its report, its
 * compactor and its limits.
 *
 * - A conversation whose policy is "never" (rule P9) continues on the target of its last answer, unless its model was changed
 *   since.
 * - A turn without any other target has no router, and no cost. A person may send it to any provider (rule X4), so the
 *   credentials of all providers count.
 */
import { Compactor, type Provider, type Router, type TurnLimits, type TurnStopped } from "@holdfast/kernel"
import { type Models, type RetryPolicy, Routers, type Routes } from "@holdfast/policy"
import { defined, type Message, type Target } from "@holdfast/wire"
import type { StorageError } from "@holdfast/journal"
import type { Effect } from "effect"
import * as FinalReports from "../../config/report/FinalReports.ts"
import type { Standings } from "../../storage/Standings.ts"

/** The parts that the routers of all turns share. */
export interface RouterDependencies extends Omit<Routes.Known, "standing"> {
  readonly standings: Standings["Service"]
}

/** One turn, as its router needs it. */
interface RouterSetting {
  readonly policy: RetryPolicy.RetryPolicy
  /** The conversation before this turn, oldest first. */
  readonly history: ReadonlyArray<Message.Message>
  /** When the conversation's model was last changed. */
  readonly modelSince?: number | undefined
  /** The present state of the conversation's auto-retry switch (rule P15). */
  readonly isEnabled: () => boolean
  readonly patiently: <A>(effect: Effect.Effect<A, StorageError>) => Effect.Effect<A, TurnStopped.TurnStopped>
}

/** The router of a turn; `undefined` if there is no choice. */
export const routerOf = (
  { standings, ...known }: RouterDependencies,
  { history, isEnabled, modelSince, patiently, policy }: RouterSetting
): Router.Router["Service"] | undefined => {
  if (!hasElsewhere(policy, known.credentials)) return undefined
  const last = lastAnswer(history, modelSince)
  const router = Routers.make(policy, {
    ...known,
    load: (now) => patiently(standings.load(now)),
    note: (changes, now) => patiently(standings.note(changes, now)),
    isEnabled
  })
  return {
    ...router,
    begin: (question, now) => {
      const isFirst = question.current === undefined && last !== undefined
      return router.begin(isFirst ? { ...question, current: { target: last } } : question, now) // rule P9
    }
  }
}

/** The target of the last answer in a conversation, since its model was last changed. */
export const lastAnswer = (history: ReadonlyArray<Message.Message>, since = 0): Target.Target | undefined => {
  const answer = history.findLast(
    (message) => message.role === "assistant" && message.error === undefined && message.createdAt >= since
  )
  return answer?.role === "assistant" ? answer.target : undefined
}

/** Whether a turn may use another target or credential than its first. */
export const hasElsewhere = (
  { routing }: RetryPolicy.RetryPolicy,
  credentials: RouterDependencies["credentials"]
): boolean =>
  routing.type === "round-robin" ||
  Object.keys(routing.chains).length > 0 ||
  Object.values(credentials).some((names) => names.length > 1)

/** The optional ports of one turn, whose calls are made by `provider`. */
export const portsOf = (
  dependencies: RouterDependencies,
  { provider, ...setting }: RouterSetting & { readonly provider: Provider.Provider["Service"] }
) => ({
  router: routerOf(dependencies, setting),
  report: FinalReports.make(setting.policy),
  compactor: Compactor.make(provider), // rule P19
  limits: limitsOf(setting.policy, dependencies.countTokens)
})

// --- internal

/** Rules A11, C11. `undefined` if only the kernel's own limits apply: a turn without limits costs less. */
const limitsOf = (
  { finalReport, maxFailedToolSteps, maxResponseCharacters, maxTurns }: RetryPolicy.RetryPolicy,
  countTokens: Models.CountTokens
): TurnLimits.TurnLimits | undefined => {
  const budget = finalReport?.contextBudget
  if ([budget, maxFailedToolSteps, maxTurns, maxResponseCharacters].every((limit) => limit === undefined))
    return undefined
  const exceedsContext: TurnLimits.TurnLimits["exceedsContext"] | undefined =
    budget === undefined ? undefined : (prospect) => countTokens(prospect, prospect.target) > budget
  return defined({ maxFailedToolSteps, maxResponseCharacters, maxTurns, exceedsContext })
}
