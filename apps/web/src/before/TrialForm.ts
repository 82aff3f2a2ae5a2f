/** The form of a dry run: its fields, the settings that they stand for, and the field of each error. Pure. */
import { Count } from "@holdfast/wire"
import type { DryRunGroup, SchedulePreview } from "@holdfast/wire/api"

/** The form at first: a long outage, and nothing changed. An empty setting is as configured. */
export const initial = {
  /** One outage a line. */
  outages: "529 for 7h",
  /** The record runs again, instead of new turns. */
  isReplay: false,
  /** The beginning of the record, as `datetime-local` has it. */
  since: "",
  turns: "20",
  hours: "48",
  model: "",
  profile: "",
  scheduleType: "",
  schedule: "",
  maxRetries: "",
  budget: "",
  maxDelay: "",
  jitter: "",
  midStream: "",
  fallbacks: ""
}

/** The name of a field. */
export type Field = Exclude<keyof typeof initial, "isReplay">

/** The fields, as a person has filled them in. */
export type TrialValues = Readonly<Record<Field, string> & Record<"isReplay", boolean>>

/** Settings over the configuration's. */
export type Candidate = SchedulePreview.PreviewSchedule

/** The settings that the form changes. A text that is no number goes to the service unchanged: its error names the expected value. */
export const candidateOf = (fields: TrialValues): Candidate => {
  const { budget, fallbacks, jitter, maxDelay, maxRetries, midStream, profile } = fields
  const retry = filled({
    profile,
    schedule: scheduleOf(fields),
    maxRetries: numberOf(maxRetries),
    budget: budget.trim(),
    maxDelay: maxDelay.trim(),
    jitter: jitterOf(jitter),
    midStream,
    routing: routingOf(fallbacks)
  })
  const model = fields.model.trim()
  return { ...(model === "" ? {} : { model }), ...(isEmpty(retry) ? {} : { retry }) }
}

/** Whether settings change anything. */
export const isEmpty = (settings: object): boolean => Object.keys(settings).length === 0

/** The request of a dry run: the configuration, and beside it the settings of the form. */
export const requestOf = (fields: TrialValues): DryRunGroup.RunDryRun => {
  const against = candidateOf(fields)
  const outages = fields.isReplay ? [] : partsOf(fields.outages, /\n/)
  const request = {
    ...(outages.length === 0 ? {} : { outages }),
    ...filled({
      replay: fields.isReplay ? { since: sinceOf(fields.since) } : "",
      turns: fields.isReplay ? "" : numberOf(fields.turns),
      hours: numberOf(fields.hours)
    }),
    ...(isEmpty(against) ? {} : { against }),
    picture: true
  }
  // The service checks what a person has typed.
  return request as DryRunGroup.RunDryRun
}

/** What a run does, while it goes on. */
export const wordsOf = ({ against, hours, replay, turns }: DryRunGroup.RunDryRun): string =>
  [
    replay === undefined ? `Simulates ${Count.of(turns ?? 1, "turn")}` : "Simulates the turns of the record",
    ...(hours === undefined ? [] : [`up to ${Count.of(hours, "hour")}`]),
    ...(against === undefined ? [] : ["as configured, then as changed"])
  ].join(", ")

/** The text of a configuration file with the settings in force. */
export const configurationOf = (preview: SchedulePreview.SchedulePreview, { model }: Candidate): string =>
  `${JSON.stringify({ ...(model === undefined ? {} : { model }), retry: preview.retry }, undefined, 2)}\n`

/** One mistake, as the service names it. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** The sentences beside each field; those of no field are under `form`. */
export const faultsByField = (faults: ReadonlyArray<Fault>): ReadonlyMap<Field | "form", ReadonlyArray<string>> => {
  const found = new Map<Field | "form", Array<string>>()
  for (const { message, path } of faults) {
    const field = fieldOf(path)
    const said = field === "form" && path !== "" ? `${path}: ${message}` : message
    const before = found.get(field)
    if (before === undefined) found.set(field, [said])
    else if (!before.includes(said)) before.push(said)
  }
  return found
}

// --- internal

type Settings = NonNullable<Candidate["retry"]>
type Setting = Settings[string]

/** Without the settings of empty fields. */
const filled = (settings: Settings): Settings =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== ""))

const numberOf = (text: string): number | string => (/^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text.trim())

const partsOf = (text: string, between: RegExp): ReadonlyArray<string> =>
  text
    .split(between)
    .map((part) => part.trim())
    .filter((part) => part !== "")

const scheduleOf = ({ schedule, scheduleType }: TrialValues): Setting => {
  const delays = partsOf(schedule, /[,\n]/)
  if (scheduleType === "" && delays.length === 0) return ""
  return scheduleType === "" || scheduleType === "steps"
    ? { type: "steps", delays }
    : { type: scheduleType, base: schedule.trim() }
}

const jitterOf = (text: string): Setting => {
  const factor = numberOf(text)
  if (factor === "" || factor === "none") return factor
  return factor === 0 ? "none" : { factor }
}

const routingOf = (text: string): Setting => {
  const chain = partsOf(text, /[\s,]+/)
  return chain.length === 0 ? "" : { type: "fallback-chain", chains: { default: chain } }
}

const sinceOf = (text: string): number | string => {
  const at = new Date(text).getTime()
  return Number.isNaN(at) ? text : at
}

/** The keys of requests, and the field of each. */
const FIELDS: ReadonlyArray<readonly [key: string, field: Field]> = [
  ["outages", "outages"],
  ["replay", "since"],
  ["turns", "turns"],
  ["hours", "hours"],
  ["model", "model"],
  ["retry.profile", "profile"],
  ["retry.schedule.type", "scheduleType"],
  ["retry.schedule", "schedule"],
  ["retry.maxRetries", "maxRetries"],
  ["retry.budget", "budget"],
  ["retry.maxDelay", "maxDelay"],
  ["retry.jitter", "jitter"],
  ["retry.midStream", "midStream"],
  ["retry.routing", "fallbacks"]
]

const fieldOf = (path: string): Field | "form" => {
  const key = path.replace(/^against\./, "")
  const found = FIELDS.find(([name]) => key === name || key.startsWith(`${name}.`) || key.startsWith(`${name}[`))
  return found?.[1] ?? "form"
}
