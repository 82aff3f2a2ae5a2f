/** Lists the waits of a policy for a client, with the settings that they come from. Pure. */
import { Preview, Profile, RetrySettings } from "@holdfast/policy"
import { defined, Target } from "@holdfast/wire"
import { SchedulePreview } from "@holdfast/wire/api"
import { Schema } from "effect"
import * as PolicyText from "../text/PolicyText.ts"
import * as ConfiguredRun from "./ConfiguredRun.ts"

/** The waits of a configuration. */
export const of = ({
  model: chosen,
  retry
}: Pick<ConfiguredRun.Configured, "model" | "retry">): SchedulePreview.SchedulePreview => {
  const model = ConfiguredRun.modelOf({ model: chosen })
  const policy = Profile.resolve(retry)
  const most = SchedulePreview.MOST_RETRIES
  const { because, rows } = Preview.rows(policy, most)
  return {
    model: Target.format(model),
    profile: retry.profile ?? "overnight",
    retry: written(retry),
    settings: PolicyText.primitives(policy).map(([name, value]) => ({ name, value })),
    rows: rows.map(({ atMs, clipped, delayMs }) => ({ delayMs, atMs, clipped })),
    conclusion: PolicyText.table(policy, most).at(-1) ?? "",
    isWhole: because !== undefined,
    kinds: PolicyText.hasKinds(policy)
      ? Preview.byKind(policy, model, MOST_STEPS).map(({ because, kinds, steps }) => ({
          kinds,
          steps,
          ...defined({ because })
        }))
      : [],
    remarks: PolicyText.remarks(policy)
  }
}

/** Settings as a configuration file has them: what is read of it are the same settings. */
export const written = (settings: RetrySettings.RetrySettings): { readonly [key: string]: Schema.Json } =>
  Object.fromEntries(Object.entries(encode(settings)).map(([key, value]) => [key, readable(value)]))

// --- internal

/** Retries of a kind of failure: more make no difference to a person. */
const MOST_STEPS = 60

const encode = Schema.encodeSync(RetrySettings.RetrySettings)

/** The schema writes every duration in milliseconds; a person writes it in the largest unit that fits. */
const readable = (value: unknown): Schema.Json => {
  if (typeof value === "string") return durationOf(value)
  if (Array.isArray(value)) return value.map(readable)
  // Settings have been read from JSON: what is no object is a number, true or false.
  if (typeof value !== "object" || value === null) return value as Schema.Json
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, readable(inner)]))
}

const UNITS: ReadonlyArray<readonly [ms: number, name: string]> = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1_000, "second"]
]

const durationOf = (text: string): string => {
  const [, digits] = /^(\d{1,15}) millis$/.exec(text) ?? []
  const ms = Number(digits)
  const [unit, name] = UNITS.find(([unit]) => ms > 0 && ms % unit === 0) ?? []
  if (unit === undefined) return text
  return `${ms / unit} ${name}${ms === unit ? "" : "s"}`
}
