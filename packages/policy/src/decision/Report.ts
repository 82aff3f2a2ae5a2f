/** Describes a directive for the log: `retry`, `skip-provider` or `abort` (A1). */
import type { Directive, Route } from "@holdfast/kernel"
import { Failure, Target } from "@holdfast/wire"

/** A decision in the words of rule A1. */
export interface RetryReport {
  /** `retry`: the same target again. `skip-provider`: another one. `abort`: no further attempt of this step. */
  readonly action: "retry" | "skip-provider" | "abort"
  /** The wait before the next attempt, in milliseconds; 0: there is none. */
  readonly backoffMs: number
  /** One line, in words. */
  readonly logMessage: string
  /** The sources of the error, from general to exact: the target, the reason, the HTTP status, the provider's code. */
  readonly sources: ReadonlyArray<string>
}

/** Describes a decision about an attempt on `route`. */
export const describe = (directive: Directive.Directive, failure: Failure.Failure, route: Route.Route): RetryReport => {
  const target = Target.format(route.target)
  const code = Failure.codeOf(failure)
  const what = `${target} failed (${failure.reason}${code === undefined ? "" : `, ${code}`})`
  const sources = [
    target,
    failure.reason,
    ...(failure.status === undefined ? [] : [`HTTP ${failure.status}`]),
    ...(failure.code === undefined ? [] : [failure.code])
  ]
  if (directive._tag === "GiveUp") {
    return { action: "abort", backoffMs: 0, logMessage: `${what}: giving up, ${directive.because}`, sources }
  }
  const to = directive.route ?? route
  const next = Target.format(to.target)
  const how = next === target ? (to.credential === route.credential ? "" : " with another credential") : ` on ${next}`
  const when =
    directive.resumes === true
      ? "at the end of its wait, which the early attempt does not change,"
      : directive.delayMs === 0
        ? "at once"
        : `after ${directive.delayMs} ms`
  return {
    action: next === target ? "retry" : "skip-provider",
    backoffMs: directive.delayMs,
    logMessage: `${what}: retry ${directive.attempt + 1} ${when}${how}`,
    sources
  }
}
