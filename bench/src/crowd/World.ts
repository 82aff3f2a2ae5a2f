/** Worlds of `bench crowd`: how an endpoint behaves, how its crowd comes, and what is the least time. */

/** An endpoint, and the crowd before it. Times are in milliseconds after the endpoint's first call. */
export interface World {
  readonly name: string
  /** Held calls of the gateway, or turns that were submitted. */
  readonly crowd: "held" | "turns"
  readonly count: number
  /** From one to the next; 0: all come at once. */
  readonly everyMs: number
  /** Of the calls that meet the endpoint up and with room, so many percent are answered. */
  readonly percent: number
  /** It refuses every call until then. */
  readonly downMs: number
  /** Calls that it answers at once. */
  readonly room: number
  /** From a call to its refusal, or to its first content. */
  readonly latencyMs: number
  /** From a call to the end of its answer. */
  readonly serviceMs: number
  /** The first of the crowd is always refused, and counts for nothing else. */
  readonly hasPoison: boolean
}

const world = (name: string, crowd: World["crowd"], count: number, rest: Partial<World>): World => ({
  everyMs: 0,
  percent: 100,
  downMs: 0,
  room: 100_000,
  latencyMs: 20,
  serviceMs: 20,
  hasPoison: false,
  ...rest,
  name,
  crowd,
  count
})

/** The worlds in the order of the table. */
export const worlds: ReadonlyArray<World> = [
  world("10 % answered", "turns", 60, { percent: 10 }),
  world("40 % answered", "turns", 120, { percent: 40 }),
  world("70 % answered", "turns", 120, { percent: 70 }),
  world("down for 20 s, then room for 20", "turns", 200, { downMs: 20_000, room: 20, serviceMs: 1_000 }),
  world("one is always refused, 70 % of the others' calls answered", "turns", 120, {
    percent: 70,
    everyMs: 500,
    hasPoison: true
  }),
  world("held, down for 12 s", "held", 100, { downMs: 12_000 }),
  world("held, down for 12 s", "held", 300, { downMs: 12_000 }),
  world("held, 40 % answered", "held", 100, { percent: 40 })
]

/** Those of the crowd that can be answered. */
export const answerable = ({ count, hasPoison }: World): number => count - (hasPoison ? 1 : 0)

/** How many are answered by `at` if each calls at the first moment at which it would be answered, and no call is wasted. */
export const ideal = ({ count, downMs, everyMs, hasPoison, room, serviceMs }: World, at: number): number => {
  let answered = 0
  const ends: Array<number> = []
  for (let n = hasPoison ? 1 : 0; n < count; n++) {
    const free = ends.length < room ? 0 : (ends[ends.length - room] ?? 0)
    const end = Math.max(n * everyMs, downMs, free) + serviceMs
    ends.push(end)
    if (end <= at) answered++
  }
  return answered
}

/** The name by which the endpoint knows one of the crowd, in its prompt. */
export const promptOf = (n: number): string => `crowd ${n}`
