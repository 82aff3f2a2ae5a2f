/**
 * Parks over HTTP and the memory that stays of a parked turn, for configurations that people have, each against the default of the same run.
 * The gate is off, as for `parking`: it would hold most calls.
 */
import * as FigureTable from "./FigureTable.ts"
import * as OverHttp from "./parking/OverHttp.ts"
import * as Prepared from "./parking/Prepared.ts"
import * as Service from "./parking/Service.ts"
import * as Processes from "./Processes.ts"
import * as Rounds from "./Rounds.ts"
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
  /** That stays, of each parked turn. */
  readonly bytes: number
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
        what: `memory that stays a parked turn, ${name}`,
        holdfast: of(name, "bytes"),
        bare: undefined,
        unit: "B",
        aim: { atMost: 5_000, of: "figure" as const }
      }))
    ])
  })

// --- internal

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
    const before = await service.memory()
    const paths = ids.map((id) => `/v1/conversations/${id}/turns`)
    const speed = await OverHttp.park(service, paths, "submitted")
    return { ...speed, bytes: ((await service.memory()) - before) / TURNS }
  } finally {
    await Processes.stop(service)
  }
}
