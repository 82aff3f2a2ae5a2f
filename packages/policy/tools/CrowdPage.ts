/**
 * Makes docs/crowd.md and its picture: the effect of the gate on a crowd (X5).
 *
 * Every figure is simulated (`Crowd.ts`) by the functions that the service runs; tests of the service have crowds of their own, and
 * compare them with the simulation.
 */
import { Count } from "@holdfast/wire"
import { Profile } from "../src/index.ts"
import * as Crowd from "./Crowd.ts"
import * as CrowdWorlds from "./CrowdWorlds.ts"

/** The page, from its first line to its last. */
export const page = (): string =>
  [
    "# A crowd before one endpoint",
    "",
    "What the gate saves when many turns wait for one endpoint. Written by `npx --yes pnpm@12 --filter @holdfast/policy write-crowd`: each figure is a simulation by the functions that the service runs.",
    "Turns of the profile `overnight` call an endpoint that is down, answers a share of the calls, or has little room. *Half*, *99 %* and *all* are the times from a turn's first attempt to the end of",
    "its answer, as means of thirty runs (three of 1,000 turns). *Ideal* knows the future. *Wasted* are the calls that were refused, first attempts too.",
    "",
    `![${alternative(picture())}](images/crowd.svg)`,
    "",
    ...CrowdWorlds.lines(CrowdWorlds.worlds.filter(({ isShown }) => isShown)),
    "",
    "- A turn that waits alone keeps its schedule to the millisecond.",
    "- An early attempt is free for its turn, and paid from calls that the gate has saved: all make about as many calls as without a gate.",
    "- The gate is later than none where 20 places are protected from 120 due turns (*down for 3 s*), and where 10,000 turns meet an endpoint that answers some: they call no more than was answered before.",
    "- First attempts are never held: a burst of 1,000 wastes 1,000 calls before its first refusal is known.",
    "- Two runners find their shares of the room without each other: 1.4 times the ideal.",
    "",
    "How it works is in [the gate](../packages/policy/src/gate/Gate.ts), and why it is not a library's in",
    "[the decision](decisions/0010-a-gate-of-our-own.md); the switch is [`gate.enabled`](configuration.md#gate).",
    ""
  ].join("\n")

/** The picture, as SVG. */
export const svg = (): string => drawing(picture())

// --- internal

const { HOUR, MINUTE, SECOND } = CrowdWorlds

const TURNS = 1_000
const ROOM = 20
const SERVICE_MS = 10 * SECOND
const IDEAL_MS = (TURNS / ROOM) * SERVICE_MS

interface OutageRun extends Crowd.Outcome {
  /** Milliseconds from the return of the endpoint to each answer, in order. */
  readonly answers: ReadonlyArray<number>
}

const outageRun = (gated: boolean): OutageRun => {
  const answers = (now: number, busy: number): boolean => now >= BACK_AT && busy < ROOM
  const endpoint = { answers, latencyMs: SECOND, serviceMs: SERVICE_MS }
  const policy = Profile.profiles.overnight
  const outcome = Crowd.play({ turns: TURNS, policy, endpoint, arrivalMs: MINUTE, gated })
  const ends = outcome.turns.flatMap(({ doneAt }) => (doneAt < Infinity ? [doneAt - BACK_AT] : []))
  return { ...outcome, answers: ends.toSorted((a, b) => a - b) }
}

const count = Count.format

const span = (ms: number): string => {
  const seconds = Math.round(ms / SECOND)
  if (seconds < 3_600) return `${count(seconds)} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.round((seconds % 3_600) / 60)} min`
}

interface Picture {
  readonly bare: OutageRun
  readonly gated: OutageRun
}

const BACK_AT = HOUR

const picture = (): Picture => ({ bare: outageRun(false), gated: outageRun(true) })

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
