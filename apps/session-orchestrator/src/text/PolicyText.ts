/** Names the primitives of a retry policy, each in words. Pure. */
import { TurnLimits } from "@holdfast/kernel"
import { ResponseLimit } from "@holdfast/kernel/host"
import type { RetryPolicy, Routing, SpendGuard } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import * as DurationText from "./DurationText.ts"

/** The primitives, by their names in the configuration. */
export const primitives = (policy: RetryPolicy.RetryPolicy): ReadonlyArray<readonly [name: string, value: string]> => [
  ["enabled", String(policy.enabled)],
  ["schedule", schedule(policy.schedule)],
  ["jitter", policy.jitter.factor === 0 ? "none" : `up to ${Math.round(policy.jitter.factor * 100)} % more`],
  ["reasons", Object.keys(policy.reasons).join(", ") || "none of its own"],
  ["maxRetries", policy.maxRetries === undefined ? "no limit" : String(policy.maxRetries)],
  ["counts", policy.counts],
  [
    "budget",
    policy.budget.totalMs === undefined
      ? "no limit"
      : `${DurationText.format(policy.budget.totalMs)}${policy.budget.clip ? ", the last wait is cut to fit" : ""}`
  ],
  ["measure", policy.budget.measure],
  [
    "maxDelay",
    policy.maxDelayMs === undefined || policy.maxDelayMs <= 0 ? "no limit" : DurationText.format(policy.maxDelayMs)
  ],
  ["hints", policy.hints ? "followed" : "ignored"],
  ["midStream", midStream(policy)],
  [
    "spendGuard",
    policy.spendGuard === undefined
      ? "off"
      : `asks after ${DurationText.format(policy.spendGuard.afterMs)} of waiting, ${bounds(policy.spendGuard)}`
  ],
  ["requestTimeout.firstContent", DurationText.format(policy.requestTimeout.firstContentMs)],
  ["requestTimeout.idle", DurationText.format(policy.requestTimeout.idleMs)],
  ["maxResponseCharacters", String(policy.maxResponseCharacters ?? ResponseLimit.MOST_CHARACTERS)],
  ["routing", routing(policy.routing)],
  ["maxTurns", policy.maxTurns === undefined ? "no limit" : String(policy.maxTurns)],
  ["maxFailedToolSteps", String((policy.maxFailedToolSteps ?? TurnLimits.MOST_FAILED_TOOL_STEPS) || "no limit")],
  ["finalReport", policy.finalReport === undefined ? "none" : "required"]
]

/** The tokens at which a guard of spending asks, in words. */
export const bounds = ({ maxInputTokens, maxTurnTokens }: SpendGuard.SpendGuard): string =>
  [
    ...(maxInputTokens === undefined ? [] : [`with a request of more than ${maxInputTokens} tokens`]),
    ...(maxTurnTokens === undefined ? [] : [`after more than ${maxTurnTokens} tokens`])
  ].join(", or ")

// --- internal

/** What follows a failure after content, with the reasons that have a setting of their own (X7). */
const midStream = ({ midStream, reasons }: RetryPolicy.RetryPolicy): string =>
  [
    midStream ?? "fail, and unseen for submitted turns",
    ...Object.entries(reasons).flatMap(([reason, rule]) =>
      rule.midStream === undefined ? [] : [`${reason}: ${rule.midStream}`]
    )
  ].join("; ")

const schedule = (schedule: RetryPolicy.RetryPolicy["schedule"]): string => {
  switch (schedule.type) {
    case "steps":
      return `${schedule.delaysMs.map(DurationText.format).join(", ")}, then every ${DurationText.format(schedule.tailMs)}`
    case "exponential":
      return `${DurationText.format(schedule.baseMs)}, then ${schedule.factor} times as long each time`
    case "linear":
      return `${DurationText.format(schedule.baseMs)}, then ${DurationText.format(schedule.incrementMs)} longer each time`
    default:
      return schedule satisfies never
  }
}

const routing = (routing: Routing.Routing): string => {
  const named = (targets: ReadonlyArray<Target.Target>) => targets.map(Target.format).join(", ")
  if (routing.type === "round-robin") {
    return routing.targets.length === 0 ? "the same target each time" : `${named(routing.targets)} in turn`
  }
  const chains = Object.entries(routing.chains).map(([role, targets]) => `${role}: ${named(targets) || "none"}`)
  return chains.length === 0
    ? "no fallback chains"
    : `${chains.join("; ")}; cooldown ${DurationText.format(routing.cooldownMs)}; revert ${routing.revert}`
}
