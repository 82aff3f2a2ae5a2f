/**
 * Two runners on one PostgreSQL against one: parks and streams a second, all clients together.
 *
 * Client, provider, PostgreSQL and runners share the cores of one machine, and two cores are not enough for all of them. So each runner
 * gets a share of a core that leaves the rest idle, where the system allows it: then the runners are what limits the speed, as on machines
 * of their own. Elsewhere only the CPU that a park or a delta takes carries over.
 */
import * as CpuShare from "./CpuShare.ts"
import * as Client from "./Client.ts"
import * as OverHttp from "./parking/OverHttp.ts"
import * as Postgres from "./Postgres.ts"
import * as Processes from "./Processes.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Rounds from "./Rounds.ts"

const PARKS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 300)
const AT_ONCE = 32
const FULL: Client.Manner = { deltas: 2_000, chunk: 20, every: 0 }
/** Of one core, for each runner. With less, a runner that gets all prompts at once takes its own slowness for the database's, and refuses some. */
const SHARE = Number(process.env["HOLDFAST_BENCH_SHARE"] ?? 0.4)
/** Runners divide the shards among them meanwhile. */
const SETTLE_MS = 10_000

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const postgres = await Postgres.start()
    try {
      const streaming = await Processes.server(place, "FakeProvider.ts")
      const failing = await Processes.server(place, "parking/FailingServer.ts")
      const providers = {
        ...Client.providersFor(streaming.port, [FULL]),
        failing: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${failing.port}/v1` }
      }
      const start = (count: number) => startRunners(place, postgres, count, providers)
      const [one, two] = [await start(1), await start(2)]
      await Processes.pause(SETTLE_MS)
      const isLimited = [...one, ...two].every(
        ({ child }) => child.pid !== undefined && CpuShare.limit(child.pid, SHARE)
      )
      const parks = await Rounds.alternate({ one: () => park(one), two: () => park(two) }, Rounds.count(3), 1)
      const streams = await Rounds.alternate({ one: () => stream(one), two: () => stream(two) }, Rounds.count(3), 1)
      FigureTable.print("Two runners on one PostgreSQL, against one", [
        ...rows("parks", parks, "us"),
        ...rows("deltas", streams, "us")
      ])
      console.log(
        isLimited
          ? `  Each runner has ${SHARE} of a core; clients, provider and PostgreSQL share the rest of the machine.`
          : "  Clients, provider, PostgreSQL and runners share this machine's cores."
      )
    } finally {
      await postgres.stop()
    }
  })

// --- internal

interface Speed {
  readonly perSecond: number
  /** Of all runners, in microseconds. */
  readonly cpu: number
}

type Runners = ReadonlyArray<Processes.Process>

const rows = (
  what: string,
  samples: Record<"one" | "two", ReadonlyArray<Speed>>,
  unit: string
): Array<FigureTable.Row> => {
  const row = (name: string, of: keyof Speed, unit: string, aim: FigureTable.Aim | undefined): FigureTable.Row => ({
    what: name,
    holdfast: samples.two.map((speed) => speed[of]),
    bare: samples.one.map((speed) => speed[of]),
    unit,
    aim
  })
  return [
    row(`${what} a second`, "perSecond", "/s", { atLeast: 1.7 }),
    row(`  CPU of the runners, by ${what}`, "cpu", unit, undefined)
  ]
}

let databases = 0

const startRunners = async (
  place: Processes.Place,
  postgres: Postgres.Server,
  count: number,
  providers: object
): Promise<Runners> => {
  const name = `runners${++databases}`
  const url = await postgres.database(name)
  const runners: Array<Processes.Process> = []
  for (let n = 0; n < count; n++) {
    const runner = await Processes.serve(place.children, place.folder, {
      name: `${name}-${n}`,
      config: {
        model: "failing/m",
        providers,
        cluster: { shards: 60 },
        telemetry: { retryLog: false },
        gate: { enabled: false },
        retry: { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" }, budget: "Infinity" }
      },
      env: { HOLDFAST_DATABASE_URL: url, HOLDFAST_CLUSTER_RUNNER: `127.0.0.1:${await Postgres.freePort()}` }
    })
    while (!(await fetch(`http://127.0.0.1:${runner.port}/readyz`)).ok) await Processes.pause(50)
    runners.push(runner)
  }
  return runners
}

/** Clients take the runners in turn, as behind a balancer; a conversation belongs to either. */
const at = (runners: Runners, n: number): Processes.Process => {
  const runner = runners[n % runners.length]
  if (runner === undefined) throw new Error("there is no runner")
  return runner
}

const cpuMs = (runners: Runners): number => runners.reduce((sum, runner) => sum + Processes.cpuMs(runner), 0)

const timed = async (runners: Runners, count: number, act: () => Promise<unknown>): Promise<Speed> => {
  const before = cpuMs(runners)
  const start = performance.now()
  await act()
  const seconds = (performance.now() - start) / 1_000
  return { perSecond: count / seconds, cpu: ((cpuMs(runners) - before) * 1_000) / count }
}

const park = async (runners: Runners): Promise<Speed> => {
  const places: Array<OverHttp.Place> = []
  for (let n = 0; n < PARKS; n++) {
    const { port } = at(runners, n)
    const { conversationId } = await Processes.post(port, "/v1/conversations", {})
    places.push({ origin: `http://127.0.0.1:${port}`, path: `/v1/conversations/${conversationId}/turns` })
  }
  return timed(runners, PARKS, () => OverHttp.handIn(places, "watched"))
}

const stream = async (runners: Runners): Promise<Speed> => {
  const servers = Array.from({ length: AT_ONCE }, (_, n) => Client.holdfast(at(runners, n).port))
  const turns = await Promise.all(servers.map(async (server) => ({ server, turn: await server.prepare(FULL) })))
  return timed(runners, AT_ONCE * FULL.deltas, () =>
    Promise.all(turns.map(({ server, turn }) => Client.stream(server, turn)))
  )
}
