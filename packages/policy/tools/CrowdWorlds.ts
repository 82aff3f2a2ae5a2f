/**
 * The worlds before which a crowd is simulated: the gate beside none beside an ideal (X5).
 *
 * Each has an endpoint, a crowd and random numbers of its own by seed; `play` and `ideal` measure it, and `lines` prints a table.
 */
import { Count } from "@holdfast/wire"
import { Profile } from "../src/index.ts"
import * as Crowd from "./Crowd.ts"

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** A crowd and its endpoint. */
export interface World {
  readonly name: string
  /** Whether docs/crowd.md has it. */
  readonly isShown?: boolean
  readonly turns: number
  /** Milliseconds over which first attempts are spread, or, if `isPoisson`, between two of them on average. */
  readonly arrivalMs: number
  readonly isPoisson?: boolean
  readonly runners?: number
  /** `backMs`: when it answers again; 0 where it always answers some. */
  readonly endpoint: (random: () => number) => Crowd.Endpoint & { readonly backMs: number }
  /** The moment of the earliest answer that could have been had, for each turn in order, where that is known. */
  readonly ideal?: (
    arrivals: ReadonlyArray<number>,
    endpoint: Crowd.Endpoint & { readonly backMs: number }
  ) => ReadonlyArray<number>
  /** Turns that no endpoint would answer. */
  readonly isBad?: (turn: number) => boolean
}

/** Figures of a crowd, as means over seeds. Times are milliseconds from a turn's arrival to its answer's end. */
export interface Figures {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly last: number
  readonly calls: number
  readonly wasted: number
  readonly gaveUp: number
  /** Milliseconds from the endpoint's return to the last answer. */
  readonly drainMs: number
  /** Share of the turns that were answered within each of `MARKS`. */
  readonly answeredBy: ReadonlyArray<number>
  /** Most early calls of a turn that is always refused. */
  readonly earlyOfBad: number
}

/** Numbers that look random and are the same for one seed (mulberry32). */
export const randomOf = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * The luck of each call of each turn, from 0 to 1: a function of the turn and of the number of its call. So a crowd with the gate and the same
 * crowd without meet the same luck, and what differs between them is the gate's.
 */
export const luckOf = (seed: number): ((turn: number) => number) => {
  const calls = new Map<number, number>()
  return (turn) => {
    const call = calls.get(turn) ?? 0
    calls.set(turn, call + 1)
    return randomOf(Math.imul(seed, 0x9e3779b1) ^ Math.imul(turn, 0x85ebca6b) ^ Math.imul(call, 0xc2b2ae35))()
  }
}

/** Times after a turn's arrival at which the answered turns are counted. */
export const MARKS = [10, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 3_900, 7_200, 14_400, 25_200].map(
  (s) => s * SECOND
)

const onOff =
  (backMs: number, room: number, serviceMs: number, more: Partial<Crowd.Endpoint> = {}) =>
  (random: () => number) => {
    const back = backMs < MINUTE ? backMs : backMs * (0.95 + 0.1 * random())
    return {
      answers: (now: number, busy: number) => now >= back && busy < room,
      latencyMs: Math.min(SECOND, serviceMs / 2),
      serviceMs,
      backMs: back,
      ...more
    }
  }

const partly =
  (
    share: (now: number) => number,
    more: Partial<Crowd.Endpoint> = {},
    isBad: (turn: number) => boolean = () => false
  ) =>
  (random: () => number) => {
    const luck = luckOf(random() * 2 ** 32)
    return {
      answers: (now: number, _busy: number, turn: number) => luck(turn) < share(now) && !isBad(turn),
      latencyMs: SECOND / 2,
      serviceMs: SECOND,
      backMs: 0,
      ...more
    }
  }

const anHour =
  (share: number) =>
  (now: number): number =>
    now < HOUR ? share : 1

/** The first come has the first of `room` free places. */
const byRoom =
  (room: number): NonNullable<World["ideal"]> =>
  (arrivals, { backMs, serviceMs }) => {
    const free = new Float64Array(room)
    return arrivals.map((at, i) => {
      const end = Math.max(at, backMs, free[i % room] ?? 0) + serviceMs
      free[i % room] = end
      return end
    })
  }

const atOnce: NonNullable<World["ideal"]> = (arrivals, { serviceMs }) => arrivals.map((at) => at + serviceMs)

const BURST = 100

const crowdAt = (
  name: string,
  turns: number,
  arrivalMs: number,
  backMs: number,
  room: number,
  serviceMs = 10 * SECOND
): World => ({
  name,
  turns,
  arrivalMs,
  endpoint: onOff(backMs, room, serviceMs),
  ideal: byRoom(room)
})

const shown = (world: World): World => ({ ...world, isShown: true })

const partial = (share: number, turns: number, arrivalMs = BURST): World => ({
  name: `${100 * share} % answered for an hour, ${Count.format(turns)} turns`,
  turns,
  arrivalMs,
  endpoint: partly(anHour(share)),
  ideal: atOnce
})

/** The worlds that were simulated to choose the gate's parameters, and that its tests hold. */
export const worlds: ReadonlyArray<World> = [
  crowdAt("down for 1 min, room for 20, 1,000 turns", 1_000, MINUTE, MINUTE, 20),
  shown(crowdAt("down for 30 min, room for 20, 1,000 turns", 1_000, MINUTE, 30 * MINUTE, 20)),
  shown(crowdAt("down for 7 h, room for 20, 1,000 turns", 1_000, MINUTE, 7 * HOUR, 20)),
  crowdAt("down for 30 min, room for 200, 1,000 turns", 1_000, BURST, 30 * MINUTE, 200),
  crowdAt("down for 30 min, room for 200, 10,000 turns", 10_000, MINUTE, 30 * MINUTE, 200),
  crowdAt("down for 30 min, room for 5, 120 turns", 120, BURST, 30 * MINUTE, 5),
  crowdAt("down for 30 min, room for 200, 20 turns", 20, BURST, 30 * MINUTE, 200),
  shown(crowdAt("down for 3 s, then room for all, 120 turns", 120, BURST, 3 * SECOND, 120)),
  crowdAt("never down, room for 20, 120 turns", 120, BURST, 0, 20),
  partial(0.9, 120),
  partial(0.7, 120),
  partial(0.4, 120),
  shown(partial(0.4, 1_000)),
  partial(0.4, 10_000, MINUTE),
  partial(0.1, 60),
  shown(partial(0.1, 120)),
  partial(0.02, 120),
  {
    name: "40 % answered, outcomes within 20 ms, 120 turns",
    turns: 120,
    arrivalMs: BURST,
    endpoint: partly(() => 0.4, { latencyMs: 20, serviceMs: 25 }),
    ideal: atOnce
  },
  {
    name: "10 % answered, outcomes within 20 ms, 60 turns",
    turns: 60,
    arrivalMs: BURST,
    endpoint: partly(() => 0.1, { latencyMs: 20, serviceMs: 25 }),
    ideal: atOnce
  },
  {
    name: "40 % answered for an hour, refusals take 60 s, 120 turns",
    turns: 120,
    arrivalMs: BURST,
    endpoint: partly(anHour(0.4), { refusalMs: MINUTE }),
    ideal: atOnce
  },
  {
    name: "0, 20, 60 %, then all (after 10, 25, 40 min), 120 turns",
    turns: 120,
    arrivalMs: BURST,
    endpoint: partly((now) => (now < 10 * MINUTE ? 0 : now < 25 * MINUTE ? 0.2 : now < 40 * MINUTE ? 0.6 : 1))
  },
  {
    name: "30 s up, 30 s down, room for 20, 1,000 turns",
    isShown: true,
    turns: 1_000,
    arrivalMs: BURST,
    endpoint: () => ({
      answers: (now, busy) => Math.floor(now / (30 * SECOND)) % 2 === 1 && busy < 20,
      latencyMs: SECOND,
      serviceMs: 10 * SECOND,
      backMs: 0
    })
  },
  {
    name: "20 calls a minute, 120 turns",
    isShown: true,
    turns: 120,
    arrivalMs: BURST,
    endpoint: () => {
      let minute = -1
      let used = 0
      return {
        answers: (now) => {
          if (Math.floor(now / MINUTE) !== minute) [minute, used] = [Math.floor(now / MINUTE), 0]
          return used++ < 20
        },
        latencyMs: SECOND / 2,
        serviceMs: 2 * SECOND,
        backMs: 0
      }
    },
    ideal: (arrivals) => arrivals.map((at, i) => Math.max(at, Math.floor(i / 20) * MINUTE) + 2 * SECOND)
  },
  {
    name: "70 % answered, one turn never, one of 240 turns every 10 s",
    turns: 240,
    arrivalMs: 10 * SECOND,
    isPoisson: true,
    endpoint: partly(
      () => 0.7,
      { serviceMs: 5 * SECOND },
      (turn) => turn === 0
    ),
    isBad: (turn) => turn === 0,
    ideal: atOnce
  },
  shown({
    ...crowdAt("down for 30 min, room for 20, 300 turns, two runners", 300, BURST, 30 * MINUTE, 20),
    runners: 2
  }),
  { ...partial(0.4, 120), name: "40 % answered for an hour, 120 turns, two runners", runners: 2 },
  { ...partial(0.1, 120), name: "10 % answered for an hour, 120 turns, two runners", runners: 2 }
]

/** Plays a world by the profile `overnight`, `seeds` times from seed `from` on; a crowd of thousands once. */
export const play = (world: World, gated: boolean, seeds: number, from = 1): Figures =>
  meanOf(Array.from({ length: world.turns > 1_000 ? 1 : seeds }, (_, i) => once(world, gated, from + i)))

const once = (world: World, gated: boolean, seed: number): Figures => {
  const { runners = 1, turns } = world
  const { arrivals, endpoint } = made(world, seed)
  const policy = Profile.profiles.overnight
  const outcome = Crowd.play({ turns, policy, endpoint, arrivalMs: arrivals, gated, runners })
  const good = outcome.turns.filter((_, i) => world.isBad?.(i) !== true)
  const bad = outcome.turns.filter((_, i) => world.isBad?.(i) === true)
  const times = good.map(({ arrivedAt, doneAt }) => doneAt - arrivedAt)
  return {
    ...quantiles(times),
    calls: outcome.calls,
    wasted: outcome.wasted,
    gaveUp: good.filter(({ gaveUpAt }) => gaveUpAt < Infinity).length,
    drainMs: Math.max(...good.map(({ doneAt }) => doneAt)) - endpoint.backMs,
    answeredBy: MARKS.map((mark) => times.filter((ms) => ms <= mark).length / good.length),
    earlyOfBad: Math.max(0, ...bad.map(({ early }) => early))
  }
}

/** The same of an ideal that knows everything: no call before its answer; absent where none is computed. */
export const ideal = (world: World, seeds: number, from = 1): Figures | undefined => {
  const { ideal } = world
  if (ideal === undefined) return undefined
  return meanOf(
    Array.from({ length: world.turns > 1_000 ? 1 : seeds }, (_, i) => {
      const { arrivals, endpoint } = made(world, from + i)
      const ends = ideal(arrivals, endpoint)
      const times = ends.map((end, n) => end - (arrivals[n] ?? 0))
      const answeredBy = MARKS.map((mark) => times.filter((ms) => ms <= mark).length / times.length)
      const drainMs = Math.max(...ends) - endpoint.backMs
      return { ...quantiles(times), calls: world.turns, wasted: 0, gaveUp: 0, drainMs, answeredBy, earlyOfBad: 0 }
    })
  )
}

/** The worlds as a table in Markdown: of small crowds thirty runs, of 1,000 turns three, of more one. */
export const lines = (of: ReadonlyArray<World>): ReadonlyArray<string> => [
  "| world | | half | 99 % | all | calls | wasted | gave up |",
  "|---|---|---|---|---|---|---|---|",
  ...of.flatMap((world) => {
    const seeds = world.turns < 1_000 ? 30 : 3
    const best = ideal(world, seeds)
    return [
      ...(best === undefined ? [] : [row(world.name, "ideal", best)]),
      row(best === undefined ? world.name : "", "no gate", play(world, false, seeds)),
      row("", "gate", play(world, true, seeds))
    ]
  })
]

/** A span as people write it. */
export const span = (ms: number): string => {
  if (ms === Infinity) return "never"
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`
  if (ms < 100 * SECOND) return `${Math.round(ms / SECOND)} s`
  return ms < 100 * MINUTE ? `${(ms / MINUTE).toFixed(1)} min` : `${(ms / HOUR).toFixed(1)} h`
}

// --- internal

const row = (world: string, kind: string, { calls, gaveUp, last, p50, p99, wasted }: Figures): string =>
  `| ${[world, kind, ...[p50, p99, last].map(span), ...[calls, wasted, gaveUp].map((n) => Count.format(Math.round(n)))].join(" | ")} |`

const made = ({ arrivalMs, endpoint, isPoisson = false, turns }: World, seed: number) => {
  const random = randomOf(seed)
  let at = 0
  const arrivals = Array.from({ length: turns }, (_, i) =>
    isPoisson ? (at += -Math.log(1 - random()) * arrivalMs) : (i / turns) * arrivalMs
  )
  return { arrivals, endpoint: endpoint(random) }
}

const quantiles = (times: ReadonlyArray<number>): Pick<Figures, "p50" | "p90" | "p99" | "last"> => {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Infinity
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), last: at(1) }
}

const meanOf = (all: ReadonlyArray<Figures>): Figures => {
  const mean = (of: (figures: Figures) => number): number =>
    all.reduce((sum, figures) => sum + of(figures), 0) / all.length
  return {
    p50: mean(({ p50 }) => p50),
    p90: mean(({ p90 }) => p90),
    p99: mean(({ p99 }) => p99),
    last: mean(({ last }) => last),
    calls: mean(({ calls }) => calls),
    wasted: mean(({ wasted }) => wasted),
    gaveUp: mean(({ gaveUp }) => gaveUp),
    drainMs: mean(({ drainMs }) => drainMs),
    answeredBy: MARKS.map((_, i) => mean(({ answeredBy }) => answeredBy[i] ?? 0)),
    earlyOfBad: mean(({ earlyOfBad }) => earlyOfBad)
  }
}
