/**
 * Two runners on one PostgreSQL against one: parks and streams a second, all clients together, and a crowd that wakes. Beside them what the
 * machine gives: two programs that insert rows, against one.
 *
 * Client, provider, PostgreSQL and runners share the cores of one machine, and two cores are not enough for all of them. So each runner
 * gets a share of a core that leaves the rest idle, where the system allows it: then the runners are what limits the speed, as on machines
 * of their own. Elsewhere only the CPU that a park or a delta takes carries over.
 */
import * as Client from "./Client.ts"
import * as FailingProvider from "./parking/FailingProvider.ts"
import * as FigureTable from "./FigureTable.ts"
import * as OverHttp from "./parking/OverHttp.ts"
import * as Postgres from "./Postgres.ts"
import * as Processes from "./Processes.ts"
import * as Rounds from "./Rounds.ts"
import * as BareInserter from "./runners/BareInserter.ts"
import * as CpuShare from "./runners/CpuShare.ts"
import * as Crowd from "./runners/Crowd.ts"
import * as Fleet from "./runners/Fleet.ts"

const PARKS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 300)
/** Clients that stream at once. */
const STREAMS = 32
/** Clients that park at once. With more, a runner that is busy with all of them takes its own slowness for the database's, and refuses some. */
const PARKING = 64
/** Turns that are due at one moment. */
const DUE = Number(process.env["HOLDFAST_BENCH_DUE"] ?? 5_000)
/** Commits of the bare inserters together. */
const GROUPS = 400
const FULL: Client.Manner = { deltas: 2_000, chunk: 20, every: 0 }
/** Of one core, for each runner. */
const SHARE = Number(process.env["HOLDFAST_BENCH_SHARE"] ?? 0.4)
/** Runners divide the shards among them meanwhile. */
const SETTLE_MS = 10_000

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const postgres = await Postgres.start()
    const waking = await FailingProvider.start()
    try {
      const streaming = await Processes.server(place, "FakeProvider.ts")
      const failing = await Processes.server(place, "parking/FailingServer.ts")
      const config = {
        model: "failing/m",
        providers: {
          ...Client.providersFor(streaming.port, [FULL]),
          failing: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${failing.port}/v1` },
          waking: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${waking.port}/v1` }
        },
        retry: { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" }, budget: "Infinity" }
      }
      const one = await Fleet.start(place, postgres, 1, config)
      const two = await Fleet.start(place, postgres, 2, config)
      const bareOne = await Fleet.startBare(place, postgres, 1)
      const bareTwo = await Fleet.startBare(place, postgres, 2)
      await Processes.pause(SETTLE_MS)
      const isLimited = [...one, ...two, ...bareOne, ...bareTwo].every(
        ({ child }) => child.pid !== undefined && CpuShare.limit(child.pid, SHARE)
      )
      const measured = async (measure: (fleet: Fleet.Fleet, kind: Fleet.ClientKind) => Promise<Fleet.Speed>) =>
        Rounds.alternate(
          { one: () => measure(one, "stay"), stay: () => measure(two, "stay"), either: () => measure(two, "either") },
          Rounds.count(3),
          1
        )
      const rows = await Rounds.alternate({ one: insert(bareOne), two: insert(bareTwo) }, Rounds.count(3), 1)
      const parks = await measured(park)
      const streams = await measured(stream)
      for (const fleet of [one, two]) await Crowd.park(fleet, DUE, WAKING)
      const wake = (fleet: Fleet.Fleet) => () => Crowd.wake(fleet, DUE, WAKING, waking)
      const wakes = await Rounds.alternate({ one: wake(one), two: wake(two) }, Rounds.count(3))
      FigureTable.print("Two runners on one PostgreSQL, against one", [
        row("rows a second, bare", rows.two, rows.one, "perSecond", "/s"),
        ...speedRows("parks", parks),
        ...speedRows("deltas", streams),
        ...wakeRows(wakes)
      ])
      console.log(
        "  staying: each client asks the runner that made its conversation; roaming: every second one asks the other."
      )
      console.log(
        isLimited
          ? `  Each runner has ${SHARE} of a core; clients, provider and PostgreSQL share the rest of the machine.`
          : "  Clients, provider, PostgreSQL and runners share this machine's cores."
      )
      for (const runner of [...one, ...two]) await Processes.stop(runner)
    } finally {
      waking.close()
      await postgres.stop()
    }
  })

// --- internal

const WAKING = "waking/m"

type Speeds = Record<"one" | Fleet.ClientKind, ReadonlyArray<Fleet.Speed>>

const NAMES = { stay: "staying", either: "roaming" } as const

const row = <Of extends string>(
  what: string,
  two: ReadonlyArray<Readonly<Record<Of, number>>>,
  one: ReadonlyArray<Readonly<Record<Of, number>>>,
  of: Of,
  unit: string,
  aim?: FigureTable.Aim
): FigureTable.Row => ({
  what,
  holdfast: two.map((sample) => sample[of]),
  bare: one.map((sample) => sample[of]),
  unit,
  aim
})

const speedRows = (what: string, samples: Speeds): Array<FigureTable.Row> =>
  (["stay", "either"] as const).flatMap((kind) => {
    const aim = { atLeast: kind === "stay" ? 1.8 : 1.3 }
    return [
      row(`${what} a second, ${NAMES[kind]}`, samples[kind], samples.one, "perSecond", "/s", aim),
      row(`  CPU of the runners, by ${what}`, samples[kind], samples.one, "cpu", "us")
    ]
  })

const wakeRows = ({ one, two }: Record<"one" | "two", ReadonlyArray<Crowd.Wakes>>): Array<FigureTable.Row> => [
  row(`${DUE} due at once: p50 of the delay`, two, one, "medianMs", "ms"),
  row("  p99", two, one, "p99Ms", "ms", { atMost: 1 }),
  row("  CPU of the runners, by wakes", two, one, "cpu", "us")
]

const insert = (fleet: Fleet.Fleet) => () =>
  Fleet.timed(fleet, GROUPS * BareInserter.GROUP, () =>
    Promise.all(fleet.map(({ port }) => Processes.post(port, `/${GROUPS / fleet.length}`, {})))
  )

const park = async (fleet: Fleet.Fleet, kind: Fleet.ClientKind): Promise<Fleet.Speed> => {
  const places: Array<OverHttp.Place> = []
  for (let n = 0; n < PARKS; n++) {
    const { path, server } = await Fleet.open(fleet, n, kind, {})
    places.push({ origin: `http://127.0.0.1:${server.port}`, path })
  }
  return Fleet.timed(fleet, PARKS, () => OverHttp.handIn(places, "watched", PARKING))
}

const stream = async (fleet: Fleet.Fleet, kind: Fleet.ClientKind): Promise<Fleet.Speed> => {
  const opened = await Promise.all(
    Array.from({ length: STREAMS }, (_, n) => Fleet.open(fleet, n, kind, { model: Client.modelOf(FULL) }))
  )
  return Fleet.timed(fleet, STREAMS * FULL.deltas, () =>
    Promise.all(opened.map(({ path, server }) => Client.stream(server, { path, body: { prompt: "Go" } })))
  )
}
