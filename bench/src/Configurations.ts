/**
 * Parks over HTTP and the memory that stays, for configurations that people have, each against the default of the same run. Memory is asked for
 * before the first turn, when half of them wait and when all do: what the second half adds is that of the turns, and the rest stays once, such as
 * compiled code and the tables of a tokenizer. The gate is off, as for `parking`: it would hold most calls.
 *
 * The default on PostgreSQL stands against inserts of one row a turn there, and beside another checkout.
 */
import * as FigureTable from "./FigureTable.ts"
import * as OnPostgres from "./parking/OnPostgres.ts"
import * as OverHttp from "./parking/OverHttp.ts"
import * as Prepared from "./parking/Prepared.ts"
import * as Service from "./parking/Service.ts"
import * as Postgres from "./Postgres.ts"
import * as Processes from "./Processes.ts"
import * as Rounds from "./Rounds.ts"
import type * as Fleet from "./runners/Fleet.ts"
import * as Trees from "./Trees.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 3_000)

const RETRY = { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" }, budget: "Infinity" }
const KEYS = { HOLDFAST_BENCH_KEY_1: "a key of the bench", HOLDFAST_BENCH_KEY_2: "another key of the bench" }
const CHAIN = { type: "fallback-chain", chains: { default: ["bench/529b"] }, cooldown: "1 hour" }

const CONFIGURATIONS: Readonly<Record<string, Service.Settings>> = {
  default: {},
  "a fallback chain": { retry: { ...RETRY, routing: CHAIN } },
  "a second key": { provider: { apiKeyEnv: Object.keys(KEYS) } },
  "limits of the provider": { provider: { limits: { calls: 10_000, requestsPerMinute: 1_000_000 } } },
  "a context window": { models: { "bench/529x*": { contextWindow: 200_000 } } },
  "a spend guard": { retry: { ...RETRY, spendGuard: { after: "2 hours", maxInputTokens: 200_000 } } }
}

interface Sample extends OverHttp.Speed {
  /** That stays, of each further parked turn. */
  readonly bytes: number
  /** That stays once. */
  readonly megabytes: number
}

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    Object.assign(process.env, KEYS)
    const { here } = await Trees.each((tree) => Prepared.prepare(place, tree, TURNS, 0))
    const { port } = await Processes.server(place, "parking/FailingServer.ts")
    const samples = await Rounds.alternate<string, Sample>(
      Object.fromEntries(
        Object.entries(CONFIGURATIONS).map(([name, settings]) => [name, () => measure(place, port, here, settings)])
      ),
      Rounds.count(3)
    )
    const of = (name: string, figure: keyof Sample) => (samples[name] ?? []).map((sample) => sample[figure])
    const names = Object.keys(CONFIGURATIONS)
    FigureTable.print(`Parking ${TURNS} turns over HTTP, by configuration; against the default`, [
      ...names.map((name) => ({
        what: `parks a second, ${name}`,
        holdfast: of(name, "perSecond"),
        bare: name === "default" ? undefined : of("default", "perSecond"),
        unit: "/s",
        aim: name === "default" ? undefined : { atLeast: 0.95 }
      })),
      ...names.map((name) => ({
        what: `memory that stays a further parked turn, ${name}`,
        holdfast: of(name, "bytes"),
        bare: undefined,
        unit: "B",
        aim: { atMost: 5_000, of: "figure" as const }
      })),
      ...names.map((name) => ({
        what: `memory that stays once, ${name}`,
        holdfast: of(name, "megabytes"),
        bare: undefined,
        unit: "MB",
        aim: undefined
      }))
    ])
    await onPostgres(place, port)
  })

// --- internal

const onPostgres = async (place: Processes.Place, provider: number): Promise<void> => {
  const postgres = await Postgres.start()
  const { beside } = Trees
  const config = Service.configFor(provider, {})
  const park = (tree: Trees.Tree) => () => OnPostgres.park(place, postgres, tree, TURNS, config)
  try {
    const { bare, ...of } = await Rounds.alternate<"here" | "beside" | "bare", Fleet.Speed>(
      {
        here: park(Trees.here),
        beside: beside && park(beside),
        bare: async () => ({ perSecond: await OnPostgres.bareInserts(postgres, TURNS), cpu: NaN })
      },
      Rounds.count(3)
    )
    const figures = (speeds: ReadonlyArray<Fleet.Speed>, of: keyof Fleet.Speed) => speeds.map((speed) => speed[of])
    FigureTable.print(`Parking ${TURNS} turns over HTTP, on PostgreSQL`, [
      {
        what: "parks a second; bare inserts",
        holdfast: figures(of.here, "perSecond"),
        beside: figures(of.beside ?? [], "perSecond"),
        bare: figures(bare, "perSecond"),
        unit: "/s",
        aim: { atLeast: 0.95, of: "beside" }
      },
      {
        what: "CPU of the runner, a park",
        holdfast: figures(of.here, "cpu"),
        beside: figures(of.beside ?? [], "cpu"),
        bare: undefined,
        unit: "us",
        aim: { atMost: 1.05, of: "beside" }
      }
    ])
  } finally {
    await postgres.stop()
  }
}

const measure = async (
  place: Processes.Place,
  provider: number,
  prepared: Prepared.Prepared,
  settings: Service.Settings
): Promise<Sample> => {
  const database = Prepared.copyOf(place, prepared.fresh)
  const ids = prepared.sql.conversationsIn(database)
  const service = await Service.start(place, prepared.tree, { database, provider, turns: 0, settings })
  try {
    const paths = ids.map((id) => `/v1/conversations/${id}/turns`)
    const half = Math.floor(paths.length / 2)
    const first = await service.memory()
    const begins = await OverHttp.park(service, paths.slice(0, half), "submitted")
    const middle = await service.memory()
    const goesOn = await OverHttp.park(service, paths.slice(half), "submitted", half)
    const bytes = ((await service.memory()) - middle) / (paths.length - half)
    return {
      // Of both halves.
      perSecond: 2 / (1 / begins.perSecond + 1 / goesOn.perSecond),
      cpuAPark: (begins.cpuAPark + goesOn.cpuAPark) / 2,
      bytes,
      megabytes: (middle - first - half * bytes) / 1e6
    }
  } finally {
    await Processes.stop(service)
  }
}
