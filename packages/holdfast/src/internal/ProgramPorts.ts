/** What all turns of one `holdfast` run by: the policy, the model behind its limits, the tools, and where attempts may go. */
import type { Provider, Router, Toolbox, TurnLimits } from "@holdfast/kernel"
import type { RetryPolicy } from "@holdfast/policy"
import { RetryStrategies, Routers } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import { defined, Target } from "@holdfast/wire"
import { invalid } from "../HoldfastError.ts"
import { policyOf, type RetryChoice } from "../RetryChoice.ts"
import { type Tools, toolboxOf } from "../ToolFunctions.ts"

/** The kernel's ports of all turns, made of a program's options. */
export interface ProgramPorts {
  readonly policy: RetryPolicy.RetryPolicy
  readonly provider: Provider.Provider["Service"]
  readonly toolbox: Toolbox.Toolbox["Service"]
  readonly router: Router.Router["Service"]
  readonly limits: TurnLimits.TurnLimits | undefined
  readonly strategy: (sleep: RetryStrategies.Sleep) => ReturnType<typeof RetryStrategies.make>
  /** Reads `provider/model`; throws a `HoldfastError` that names the option where it is none. */
  readonly targetOf: (text: string, option: string) => Target.Target
}

/** Reads the options; throws a `HoldfastError` that names what is wrong. */
export const of = (options: {
  readonly provider: Provider.Provider["Service"]
  readonly tools: Tools
  readonly retry: RetryChoice | undefined
  readonly isEnabled: () => boolean
}): ProgramPorts => {
  const policy = { ...policyOf(options.retry), enabled: true }
  return {
    policy,
    provider: Limits.withLimits(options.provider, policy.requestTimeout),
    toolbox: toolboxOf(options.tools),
    // What is found out of targets is shared by all turns, and lost with the process.
    router: Routers.make(policy, { ...Routers.inMemory(), isEnabled: options.isEnabled }),
    limits: limitsOf(policy),
    strategy: (sleep) => RetryStrategies.make(policy, sleep),
    targetOf
  }
}

// --- internal

const limitsOf = ({ maxFailedToolSteps, maxResponseCharacters, maxTurns }: RetryPolicy.RetryPolicy) => {
  const limits = defined({ maxFailedToolSteps, maxResponseCharacters, maxTurns })
  return Object.keys(limits).length === 0 ? undefined : limits
}

/** Reads `provider/model`; throws a `HoldfastError` that names the option where it is none. */
export const targetOf = (text: string, option: string): Target.Target => {
  const target = Target.parse(text)
  if (target === undefined) throw invalid(`${option}: "${text}" is no model, expected "provider/model".`)
  return target
}
