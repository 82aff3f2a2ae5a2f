/** Reads the option `retry` of the library and of the packages for other frameworks: one reader, one error. */
import { Profile, type RetryPolicy, RetrySettings } from "@holdfast/policy"
import * as Result from "effect/Result"
import { invalid } from "./HoldfastError.ts"

/**
 * The retry policy of a program, as it stands in `retry` of a configuration (docs/settings.md). Each key replaces that part of the profile. Lengths
 * of time are text such as `"30 seconds"`, `"15 minutes"` or `"7 hours"`.
 */
export type RetryOptions = Omit<(typeof RetrySettings.RetrySettings)["Encoded"], "finalReport">

/** A profile, or settings over one. */
export type RetryChoice = RetryOptions | NonNullable<RetryOptions["profile"]>

/** The policy of the option `retry`; absent: `overnight`. Throws a `HoldfastError` that names what is wrong. */
export const policyOf = (retry: RetryChoice | undefined): RetryPolicy.RetryPolicy => {
  const settings = RetrySettings.decode(
    retry === undefined ? {} : typeof retry === "string" ? { profile: retry } : retry
  )
  if (Result.isFailure(settings)) throw invalid(`retry: ${settings.failure.message}`, { cause: settings.failure })
  if (settings.success.finalReport !== undefined)
    throw invalid("retry.finalReport: this library does not check reports; the service does.")
  return Profile.resolve(settings.success)
}
