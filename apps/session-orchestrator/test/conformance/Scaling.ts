/** A retry configuration, with everything in it that takes time made shorter. */
import { Profile } from "@holdfast/policy"
import { Result } from "effect"

type Settings = typeof Profile.RetrySettings.Encoded

/**
 * The same settings, so many times as quick.
 *
 * **Details**
 *
 * The profile's own delays are written out, since a profile has no scale. Limits on an attempt stay as they are, unless they
 * are set: what a machine needs to answer does not shrink.
 */
export const settings = (given: Settings, scale: number): Settings => {
  if (scale === 1) return given
  const policy = Profile.resolve(Result.getOrThrow(Profile.decode(given)))
  const span = (ms: number | undefined): string => (ms === undefined ? "Infinity" : `${ms / scale} millis`)
  const { budget, maxDelayMs, requestTimeout, schedule } = policy
  return {
    ...given,
    schedule:
      schedule.type === "steps"
        ? { type: "steps", delays: schedule.delaysMs.map(span), tail: span(schedule.tailMs) }
        : schedule.type === "exponential"
          ? { type: "exponential", base: span(schedule.baseMs), factor: schedule.factor }
          : { type: "linear", base: span(schedule.baseMs), increment: span(schedule.incrementMs) },
    budget: { total: span(budget.totalMs), clip: budget.clip },
    ...(maxDelayMs === undefined ? {} : { maxDelay: span(maxDelayMs) }),
    ...(given.requestTimeout === undefined
      ? {}
      : { requestTimeout: { firstContent: span(requestTimeout.firstContentMs), idle: span(requestTimeout.idleMs) } })
  }
}
