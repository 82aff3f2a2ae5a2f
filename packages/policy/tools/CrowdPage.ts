/**
 * Makes docs/crowd.md and its picture: the effect of the gate on a crowd (X5).
 *
 * Every figure is simulated (`gate/Crowd.ts`) by the functions that the service runs; a test of the service has the same crowd and the same
 * figures.
 */
import { Count } from "@holdfast/wire"
import { Crowd, Profile } from "../src/index.ts"

/** The page, from its first line to its last. */
export const page = (): string =>
  [
    "# A crowd before one endpoint",
    "",
    "Written by `npx --yes pnpm@12 --filter @holdfast/policy write-crowd`: each figure is a simulation by the functions that the service runs.",
    "1,000 turns of the profile `overnight` are prompted within a minute, at an endpoint that is down. It comes back with room for 20",
    "calls at once; it refuses any more, after 1 s, and takes 10 s for an answer. *Ideal* is to call it from the moment of its return on, 20 at",
    "a time, and never before: 500 s and no call wasted. `apps/session-orchestrator/test/gate/Crowds.int.test.ts` sends such a",
    "crowd through the service itself.",
    "",
    `![${alternative(picture())}](images/crowd.svg)`,
    "",
    ...table(),
    "",
    "- *Wasted* are calls that were refused, from the first prompt on. The first ten in a row are what it takes to be certain; from there on",
    "  also first attempts share what others have just met.",
    "- *Done* is the time from the return of the endpoint to the last answer. Turns that gave up had spent their 8 hours before they met a",
    "  free place.",
    `- An endpoint that comes and goes by the minute is called ${flapping(true)} times an answer from its first return on; without the gate`,
    `  ${flapping(false)} times.`,
    "- A turn that waits alone keeps its schedule to the millisecond: probes cost no more than 3 % of the calls that the schedules of",
    "  all who wait would have made, and one turn's share of that comes after its time.",
    "",
    "How it works is in [the gate](../packages/policy/src/gate/Gate.ts), and why it is not a library's in",
    "[the decision](decisions/0010-a-gate-of-our-own.md); the switch is [`gate.enabled`](configuration.md#gate).",
    ""
  ].join("\n")

/** The picture, as SVG. */
export const svg = (): string => drawing(picture())

// --- internal

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const TURNS = 1_000
const ROOM = 20
const LATENCY_MS = SECOND
const SERVICE_MS = 10 * SECOND
const IDEAL_MS = (TURNS / ROOM) * SERVICE_MS

interface OutageRun extends Crowd.Outcome {
  /** Milliseconds from the return of the endpoint to each answer, in order. */
  readonly answers: ReadonlyArray<number>
  /** Calls from the first return on. */
  readonly calledSince: number
}

const outageRun = (gated: boolean, backAt: number, isUp = (now: number): boolean => now >= backAt): OutageRun => {
  const answers: Array<number> = []
  let calledSince = 0
  const endpoint: Crowd.Endpoint = {
    latencyMs: LATENCY_MS,
    serviceMs: SERVICE_MS,
    answers: (now, busy) => {
      if (now >= backAt) calledSince++
      const isAnswered = isUp(now) && busy < ROOM
      if (isAnswered) answers.push(now + SERVICE_MS - backAt)
      return isAnswered
    }
  }
  const policy = Profile.profiles.overnight
  return { ...Crowd.play({ turns: TURNS, policy, endpoint, arrivalMs: MINUTE, gated }), answers, calledSince }
}

const flapping = (gated: boolean): string => {
  const from = 20 * MINUTE
  const isUp = (now: number): boolean => now >= from && Math.floor((now - from) / MINUTE) % 2 === 0
  const { answered, calledSince } = outageRun(gated, from, isUp)
  return (calledSince / answered).toFixed(2)
}

const count = Count.format

const span = (ms: number): string => {
  const seconds = Math.round(ms / SECOND)
  if (seconds < 3_600) return `${count(seconds)} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.round((seconds % 3_600) / 60)} min`
}

const table = (): ReadonlyArray<string> => [
  "| down for | | calls wasted | done after | against the ideal | gave up |",
  "|---|---|---|---|---|---|",
  ...(
    [
      ["2 min", 2 * MINUTE],
      ["1 h", HOUR],
      ["7 h", 7 * HOUR]
    ] as const
  ).flatMap(([downFor, backAt]) => {
    const bare = outageRun(false, backAt)
    const gated = outageRun(true, backAt)
    const row = (name: string, { doneMs, gaveUp, wasted }: OutageRun): string => {
      const share = name === "with" ? ` (${((100 * wasted) / bare.wasted).toFixed(1)} %)` : ""
      const tookMs = doneMs - backAt
      const ratio = gaveUp > 0 ? "never" : `${(tookMs / IDEAL_MS).toFixed(2)} times`
      return `| ${downFor} | ${name} | ${count(wasted)}${share} | ${span(tookMs)} | ${ratio} | ${count(gaveUp)} |`
    }
    return [row("without", bare), row("with", gated)]
  }),
  `| any | ideal | 0 | ${span(IDEAL_MS)} | 1.00 times | 0 |`
]

interface Picture {
  readonly bare: OutageRun
  readonly gated: OutageRun
}

const BACK_AT = HOUR

const picture = (): Picture => ({ bare: outageRun(false, BACK_AT), gated: outageRun(true, BACK_AT) })

const tookMs = ({ doneMs }: OutageRun): number => doneMs - BACK_AT

const alternative = ({ bare, gated }: Picture): string =>
  `After an hour's outage all 1,000 turns are answered within ${span(tookMs(gated))} of the endpoint's return with the gate, ` +
  `${span(tookMs(bare))} without it, and ${span(IDEAL_MS)} ideally; ${count(gated.wasted)} calls are wasted with it, ` +
  `${count(bare.wasted)} without.`

// The plot: time since the return, by its logarithm, and the turns that are answered.
const LEFT = 64
const RIGHT = 836
const TOP = 64
const BOTTOM = 280
const FIRST_MS = 10 * SECOND
const LAST_MS = 5 * HOUR

const x = (ms: number): number => {
  const at = Math.log(Math.max(FIRST_MS, ms) / FIRST_MS) / Math.log(LAST_MS / FIRST_MS)
  return Math.round((LEFT + at * (RIGHT - LEFT)) * 10) / 10
}

const y = (answered: number): number => Math.round((BOTTOM - (answered / TURNS) * (BOTTOM - TOP)) * 10) / 10

/** Answers in order, as a line of steps that are no finer than the picture. */
const line = (answers: ReadonlyArray<number>): string => {
  const points = answers.map((ms, i) => ({ at: x(ms), to: y(i + 1) }))
  const seen = points.filter(({ at }, i) => at !== points[i + 1]?.at)
  return `M${x(0)} ${y(0)}${seen.map(({ at, to }) => `H${at}V${to}`).join("")}`
}

const TICKS = [
  [10 * SECOND, "10 s"],
  [30 * SECOND, "30 s"],
  [MINUTE, "1 min"],
  [5 * MINUTE, "5 min"],
  [10 * MINUTE, "10 min"],
  [30 * MINUTE, "30 min"],
  [HOUR, "1 h"],
  [5 * HOUR, "5 h"]
] as const

const drawing = (shown: Picture): string => {
  const { bare, gated } = shown
  const ideal = Array.from({ length: TURNS }, (_, i) => (Math.floor(i / ROOM) + 1) * SERVICE_MS)
  const legend = [
    [LEFT, "i", `ideal: ${span(IDEAL_MS)}, no call wasted`],
    [285, "g", `with the gate: ${span(tookMs(gated))}, ${count(gated.wasted)} calls wasted`],
    [582, "b", `without: ${span(tookMs(bare))}, ${count(bare.wasted)} calls wasted`]
  ] as const
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 330" width="860" height="330" role="img" aria-labelledby="t d">',
    '  <title id="t">1,000 turns and an endpoint that comes back with room for 20</title>',
    `  <desc id="d">${alternative(shown)}</desc>`,
    "  <style>",
    "    text{font:12px system-ui,sans-serif;fill:#3d4653}.n{text-anchor:middle}.e{text-anchor:end}",
    "    .a{stroke:#9aa6b6;stroke-width:1;fill:none}.l{fill:none;stroke-width:2.5;stroke-linejoin:round}",
    "    .i{stroke:#6b7686;stroke-dasharray:6 4}.g{stroke:#1a7f37}.b{stroke:#bc4c00}",
    "    @media (prefers-color-scheme:dark){text{fill:#c3ccd8}.a{stroke:#55606e}.i{stroke:#9aa6b6}.g{stroke:#3fb950}.b{stroke:#f0883e}}",
    "  </style>",
    ...legend.map(
      ([at, name, text]) => `  <path class="l ${name}" d="M${at} 24h28"/><text x="${at + 36}" y="28">${text}</text>`
    ),
    `  <text x="${LEFT}" y="52">turns answered, after an outage of one hour</text>`,
    ...[0, 250, 500, 750, 1_000].map(
      (n) =>
        `  <path class="a" d="M${LEFT} ${y(n)}H${RIGHT}"/><text class="e" x="${LEFT - 8}" y="${y(n) + 4}">${count(n)}</text>`
    ),
    ...TICKS.map(([ms, text]) => `  <text class="n" x="${x(ms)}" y="${BOTTOM + 20}">${text}</text>`),
    `  <text class="e" x="${RIGHT}" y="${BOTTOM + 40}">since the endpoint is back</text>`,
    `  <path class="l b" d="${line(bare.answers)}"/>`,
    `  <path class="l g" d="${line(gated.answers)}"/>`,
    `  <path class="l i" d="${line(ideal)}"/>`,
    "</svg>",
    ""
  ].join("\n")
}
