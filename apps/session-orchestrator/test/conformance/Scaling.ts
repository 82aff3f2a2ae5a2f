/** Shortens all delays of a retry configuration. */
import { defined } from "@holdfast/wire"
import { type Backoff, Profile, RetrySettings, type WaitRules } from "@holdfast/policy"
import { Result } from "effect"

type Settings = typeof Profile.RetrySettings.Encoded
type Reason = NonNullable<Settings["reasons"]>[string]

/**
 * The same settings with delays that are shorter by a factor.
 *
 * **Details**
 *
 * The profile's own delays are written out, because a profile has no scale. Default limits of an attempt stay as they are: the time
 * that a machine needs to answer does not shrink.
 */
export const settings = (given: Settings, scale: number): Settings => {
  if (scale === 1) return given
  const policy = Profile.resolve(Result.getOrThrow(RetrySettings.decode(given)))
  const span = (ms: number | undefined): string => (ms === undefined ? "Infinity" : `${ms / scale} millis`)
  const { budget, maxDelayMs, reasons, requestTimeout, routing, schedule } = policy
  const scheduleOf = (schedule: Backoff.Schedule): NonNullable<Settings["schedule"]> => {
    switch (schedule.type) {
      case "steps":
        return { type: "steps", delays: schedule.delaysMs.map(span), tail: span(schedule.tailMs) }
      case "exponential":
        return { type: "exponential", base: span(schedule.baseMs), factor: schedule.factor }
      case "linear":
        return { type: "linear", base: span(schedule.baseMs), increment: span(schedule.incrementMs) }
      default:
        return schedule satisfies never
    }
  }
  const reasonOf = ({ hint, leastMs, mostMs, schedule }: WaitRules.ReasonWait): Reason => ({
    ...defined({
      schedule: schedule === undefined || schedule === "none" ? schedule : scheduleOf(schedule),
      hint,
      atLeast: leastMs === undefined ? undefined : span(leastMs),
      atMost: mostMs === undefined ? undefined : span(mostMs)
    })
  })
  return {
    ...given,
    schedule: scheduleOf(schedule),
    reasons: Object.fromEntries(Object.entries(reasons).map(([reason, wait]) => [reason, reasonOf(wait)])),
    ...(routing.type === "fallback-chain" && given.routing?.type === "fallback-chain"
      ? { routing: { ...given.routing, cooldown: span(routing.cooldownMs) } }
      : {}),
    budget: { total: span(budget.totalMs), clip: budget.clip },
    ...(maxDelayMs === undefined ? {} : { maxDelay: span(maxDelayMs) }),
    ...(given.requestTimeout === undefined
      ? {}
      : { requestTimeout: { firstContent: span(requestTimeout.firstContentMs), idle: span(requestTimeout.idleMs) } })
  }
}
