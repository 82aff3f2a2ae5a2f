/**
 * Makes docs/profiles.md: the outages that each profile survives, and their cost.
 *
 * Every cell is a simulated step (`src/simulation/Simulation.ts`), so the page always matches the policies.
 */
import { defined, type Failure, type Target } from "@holdfast/wire"
import { Duration } from "effect"
import { Profile, type RetryPolicy, RetrySettings, type Routes } from "../src/index.ts"
import * as Simulation from "../src/simulation/Simulation.ts"

/** The page, from its first line to its last. */
export const page = (): string =>
  [
    "# What each profile survives",
    "",
    "Which outages a turn outlives, by profile. Written by `npx --yes pnpm@12 --filter @holdfast/policy write-profiles`: each cell is one step, run through the functions that decide for real turns, against an outage that begins with its first call.",
    "It has the time of the answer, counted from the first call and spent waiting, and the calls; or the limit that ends the step, with the calls and the waiting until then. [The configuration](configuration.md#retry)",
    "changes any of it, and `holdfast schedule` shows what comes of that. `budget`, `max-retries` and `max-delay` are limits of the policy, `not-retryable` is a failure that time does not mend.",
    "",
    ...SECTIONS.flatMap(section)
  ].join("\n")

// --- internal

const PRIMARY: Target.Target = { provider: "first", model: "model" }
const STAND_IN: Target.Target = { provider: "second", model: "model" }
const SMALL: Target.Target = { provider: "first", model: "small" }

interface Row {
  readonly title: string
  readonly outage: Simulation.OutagePlan
}

interface Section {
  readonly title: string
  readonly text: ReadonlyArray<string>
  readonly targets: ReadonlyArray<Target.Target>
  readonly credentials: Routes.Known["credentials"]
  readonly rows: ReadonlyArray<Row>
}

const failure = (
  reason: Failure.Reason,
  status: number | undefined,
  retryable: boolean,
  retryAfterMs?: number
): Failure.Failure => ({
  reason,
  message: reason,
  retryable,
  ...defined({ status }),
  ...(retryAfterMs === undefined ? {} : { hint: { retryAfterMs, source: "retry-after" } })
})

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const rateLimited = failure("rate-limited", 429, true)
const overloaded = failure("overloaded", 529, true)
const unreachable = failure("network", undefined, true)
const rejected = failure("auth", 401, false)
const usedUp = failure("quota-exhausted", 429, false)

/** An outage of every target, for a time. */
const lasting =
  (ms: number, of: Failure.Failure): Simulation.OutagePlan =>
  (_, at) =>
    at < ms ? of : undefined

/** The same, with its remaining time as a hint. */
const announced =
  (ms: number, of: Failure.Failure): Simulation.OutagePlan =>
  (_, at) =>
    at < ms ? { ...of, retryable: true, hint: { retryAfterMs: ms - at, source: "retry-after" } } : undefined

/** An outage of one provider. */
const only =
  (provider: string, outage: Simulation.OutagePlan): Simulation.OutagePlan =>
  (route, at, n) =>
    route.target.provider === provider ? outage(route, at, n) : undefined

/** An outage of one model. */
const onlyModel =
  (model: string, outage: Simulation.OutagePlan): Simulation.OutagePlan =>
  (route, at, n) =>
    route.target.model === model ? outage(route, at, n) : undefined

const both =
  (first: Simulation.OutagePlan, second: Simulation.OutagePlan): Simulation.OutagePlan =>
  (route, at, n) =>
    (route.target.provider === PRIMARY.provider ? first : second)(route, at, n)

const SECTIONS: ReadonlyArray<Section> = [
  {
    title: "One provider, one key",
    text: [],
    targets: [],
    credentials: { first: ["KEY"] },
    rows: [
      { title: "429 for 30 s", outage: lasting(30_000, rateLimited) },
      { title: "429 for 30 s, as the provider announces", outage: announced(30_000, rateLimited) },
      { title: "no network for 2 min", outage: lasting(2 * MINUTE, unreachable) },
      { title: "529 for 5 min", outage: lasting(5 * MINUTE, overloaded) },
      { title: "529 for 1 h", outage: lasting(HOUR, overloaded) },
      { title: "529 for 7 h", outage: lasting(7 * HOUR, overloaded) },
      { title: "529 for 9 h", outage: lasting(9 * HOUR, overloaded) },
      { title: "quota used up, reset in 3 h", outage: announced(3 * HOUR, usedUp) },
      { title: "quota used up, reset in 3 d", outage: announced(72 * HOUR, usedUp) },
      { title: "quota used up, without a reset", outage: lasting(HOUR, usedUp) },
      { title: "wrong key", outage: lasting(Infinity, rejected) }
    ]
  },
  {
    title: "One provider, two keys",
    text: ["The first key's quota is used up; the second one works."],
    targets: [],
    credentials: { first: ["KEY", "KEY_2"] },
    rows: [
      {
        title: "reset in 3 h",
        outage: (route, at, n) =>
          route.credential === undefined ? announced(3 * HOUR, usedUp)(route, at, n) : undefined
      },
      {
        title: "without a reset",
        outage: ({ credential }) => (credential === undefined ? usedUp : undefined)
      },
      {
        title: "a rate limit of 30 s instead, on the first key only",
        outage: (route, at, n) =>
          route.credential === undefined ? lasting(30_000, rateLimited)(route, at, n) : undefined
      }
    ]
  },
  {
    title: "One provider, one key, two models",
    text: [
      'A fallback chain to a smaller model, `{ "default": ["first/small"] }`, for `overnight`, `weekly` and `interactive`; both in turn for `cycling`.'
    ],
    targets: [PRIMARY, SMALL],
    credentials: { first: ["KEY"] },
    rows: [
      {
        title: "quota of the large one, reset in 3 h",
        outage: onlyModel("model", announced(3 * HOUR, usedUp))
      },
      {
        title: "the same, and 529 for 5 min at the small one",
        outage: (route, at, n) =>
          (route.target.model === "model" ? announced(3 * HOUR, usedUp) : lasting(5 * MINUTE, overloaded))(route, at, n)
      },
      { title: "quota of both, reset in 3 h", outage: announced(3 * HOUR, usedUp) },
      {
        title: "quota of the account, reset in 3 h",
        outage: announced(3 * HOUR, { ...usedUp, scope: "account" })
      }
    ]
  },
  {
    title: "Two providers",
    text: [
      'A fallback chain of one, `{ "default": ["second/model"] }`, for `overnight`, `weekly` and `interactive`; both in turn for `cycling`.'
    ],
    targets: [PRIMARY, STAND_IN],
    credentials: {},
    rows: [
      { title: "529 for 7 h at the first", outage: only("first", lasting(7 * HOUR, overloaded)) },
      { title: "wrong key at the first", outage: only("first", lasting(Infinity, rejected)) },
      { title: "429 for 30 s at both", outage: lasting(30_000, rateLimited) },
      { title: "529 for 5 min at both", outage: lasting(5 * MINUTE, overloaded) },
      {
        title: "529 for 9 h at the first, for 1 h at the second",
        outage: both(lasting(9 * HOUR, overloaded), lasting(HOUR, overloaded))
      },
      {
        title: "529 for 1 h at the first, wrong key at the second",
        outage: both(lasting(HOUR, overloaded), lasting(Infinity, rejected))
      },
      {
        title: "529 for 1 h at the first, quota at the second, reset in 7 h",
        outage: both(lasting(HOUR, overloaded), announced(7 * HOUR, usedUp))
      },
      { title: "529 for 9 h at both", outage: lasting(9 * HOUR, overloaded) },
      { title: "wrong keys at both", outage: lasting(Infinity, rejected) }
    ]
  }
]

const PROFILES = RetrySettings.ProfileName.literals

const section = ({ credentials, rows, targets, text, title }: Section): ReadonlyArray<string> => [
  `## ${title}`,
  "",
  ...text.flatMap((line) => [line, ""]),
  `| outage | ${PROFILES.map((name) => `\`${name}\``).join(" | ")} |`,
  `|---|${PROFILES.map(() => "---|").join("")}`,
  ...rows.map(({ outage, title }) => {
    const cells = PROFILES.map((name) => {
      const policy = among(Profile.profiles[name], targets)
      return cell(Simulation.run({ policy, primary: PRIMARY, outage, credentials }))
    })
    return `| ${title} | ${cells.join(" | ")} |`
  }),
  ""
]

const among = (policy: RetryPolicy.RetryPolicy, targets: ReadonlyArray<Target.Target>): RetryPolicy.RetryPolicy => {
  const { routing } = policy
  if (routing.type === "round-robin") return { ...policy, routing: { ...routing, targets } }
  const chains = targets.length === 0 ? {} : { default: targets.slice(1) }
  return { ...policy, routing: { ...routing, chains } }
}

const cell = ({ because, calls, endedAt, outcome, sleptMs }: Simulation.SimulatedRun): string => {
  const effort = `${calls.length} ${calls.length === 1 ? "call" : "calls"}`
  if (outcome !== "answered")
    return `**${because ?? "never ends"}** (${effort}${sleptMs === 0 ? "" : `, ${span(sleptMs)}`})`
  const where = calls.at(-1)?.route
  const stoodIn = where?.target.provider === PRIMARY.provider ? where.target.model : where?.target.provider
  const by = where?.credential ?? (stoodIn === PRIMARY.model ? undefined : stoodIn)
  return `${endedAt === 0 ? "at once" : span(endedAt)}${by === undefined ? "" : ` by ${by}`}, ${effort}`
}

const span = (ms: number): string => Duration.format(Duration.millis(ms)).replaceAll(/(\d+)([hms])/g, "$1 $2")
