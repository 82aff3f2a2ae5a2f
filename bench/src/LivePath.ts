/**
 * The live path: a prompt in over HTTP, a provider on a socket, NDJSON out; beside plain servers that do as little as can be.
 *
 * Provider, server and client are processes of their own, on two cores in all, so the server has about one. The provider writes
 * frames that it made once, and the client only counts. Holdfast does what it always does: the prompt and the answer are on disk,
 * with a full sync each. `PlainServer.ts` describes the bare limits.
 */
import * as Client from "./Client.ts"
import * as Paced from "./live/Paced.ts"
import * as Processes from "./Processes.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Rounds from "./Rounds.ts"
import * as Trees from "./Trees.ts"

const AT_ONCE = 32

/** At full speed. 20 deltas a chunk is what a network that has caught up brings at once; one a chunk is how most providers send. */
const JOINED: Client.Manner = { deltas: 5_000, chunk: 20, every: 0 }
const SINGLE: Client.Manner = { deltas: 5_000, chunk: 1, every: 0 }
/** So short that the time to the first delta is not that of the other turns' deltas. */
const SHORT: Client.Manner = { deltas: 20, chunk: 1, every: 0 }

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const provider = await Processes.server(place, "FakeProvider.ts")
    const plain = async (kind: string) =>
      Processes.server(place, "PlainServer.ts", kind, String(provider.port), `./${kind}.db`)
    const { port: collector } = await Processes.server(place, "Collector.ts")
    const providers = Client.providersFor(provider.port, [JOINED, SINGLE, SHORT, ...Paced.MANNERS])
    const [model] = Object.keys(providers)
    const service = (name: string, database: string, telemetry: object) => (tree: Trees.Tree) =>
      Processes.serve(place.children, place.folder, {
        name: `${tree.name}-${name}`,
        tree,
        config: {
          database: { path: database === ":memory:" ? database : `./${tree.name}-${database}` },
          model: `${model}/m`,
          providers,
          telemetry
        }
      })
    const processes: Contestants = {
      rawParse: await plain("raw-parse"),
      rawTemplate: await plain("raw-template"),
      rawDurable: await plain("raw-durable"),
      durable: await Trees.each(service("durable", "durable.db", { retryLog: false })),
      memory: await Trees.each(service("memory", ":memory:", {})),
      full: await service("full", "full.db", {
        otlp: { endpoint: `http://127.0.0.1:${collector}` },
        notifications: { webhook: `http://127.0.0.1:${collector}` }
      })(Trees.here)
    }
    await atFullSpeed(processes, JOINED, "20 deltas a chunk")
    await atFullSpeed(processes, SINGLE, "one delta a chunk")
    await firstDeltas(processes)
    await Paced.measure(processes)
  })

// --- internal

type Contestants = Paced.Servers & {
  readonly rawDurable: Processes.Process
  readonly memory: Paced.Pair
  readonly full: Processes.Process
}

const atFullSpeed = async (servers: Contestants, manner: Client.Manner, name: string): Promise<void> => {
  const crowd = (process: Processes.Process | undefined, server: typeof Client.plain) =>
    process && (() => speedOf(process, server(process.port), manner))
  const rounds = await Rounds.alternate(
    {
      rawParse: crowd(servers.rawParse, Client.plain),
      here: crowd(servers.durable.here, Client.holdfast),
      beside: crowd(servers.durable.beside, Client.holdfast),
      rawTemplate: crowd(servers.rawTemplate, Client.plain),
      full: crowd(servers.full, Client.holdfast)
    },
    Rounds.count(6),
    2
  )
  const speed = (samples: ReadonlyArray<Speed>) => samples.map(({ perSecond }) => perSecond)
  const cpu = (samples: ReadonlyArray<Speed>) => samples.map(({ cpuADelta }) => cpuADelta)
  const { beside, full, here, rawParse, rawTemplate } = rounds
  const row = (
    what: string,
    figures: Pick<FigureTable.Row, "holdfast" | "beside" | "bare">,
    unit: string,
    aim?: FigureTable.Aim
  ) => ({ what, ...figures, unit, aim }) satisfies FigureTable.Row
  const ours = { holdfast: speed(here), beside: speed(beside) }
  const work = { holdfast: cpu(here), beside: cpu(beside) }
  FigureTable.print(`Live path at full speed: ${AT_ONCE} turns at once of ${manner.deltas} deltas, ${name}`, [
    row("deltas a second, against raw-parse", { ...ours, bare: speed(rawParse) }, "/s", { atLeast: 1.2 }),
    row("  against raw-template", { ...ours, bare: speed(rawTemplate) }, "/s", { atLeast: 0.9 }),
    row("  all telemetry, against without", { holdfast: speed(full), bare: speed(here) }, "/s", { atLeast: 0.9 }),
    row("CPU a delta, against raw-parse", { ...work, bare: cpu(rawParse) }, "us"),
    row("  against raw-template", { ...work, bare: cpu(rawTemplate) }, "us")
  ])
}

const firstDeltas = async (servers: Contestants): Promise<void> => {
  const { durable, memory, rawDurable, rawParse } = servers
  const turn = (server: Client.Server | undefined) => server && (async () => (await one(server)).firstMs)
  const lone = await Rounds.alternate(
    {
      rawParse: turn(Client.plain(rawParse.port)),
      rawDurable: turn(Client.plain(rawDurable.port)),
      here: turn(Client.holdfast(durable.here.port)),
      beside: turn(durable.beside && Client.holdfast(durable.beside.port)),
      memory: turn(Client.holdfast(memory.here.port))
    },
    100,
    10
  )
  const crowd = (server: Client.Server | undefined) => server && (() => firstMs(server))
  const crowds = await Rounds.alternate(
    {
      rawParse: crowd(Client.plain(rawParse.port)),
      rawDurable: crowd(Client.plain(rawDurable.port)),
      durable: crowd(Client.holdfast(durable.here.port)),
      durableBeside: crowd(durable.beside && Client.holdfast(durable.beside.port)),
      here: crowd(Client.holdfast(memory.here.port)),
      beside: crowd(memory.beside && Client.holdfast(memory.beside.port))
    },
    50,
    10
  )
  const ms = (
    what: string,
    holdfast: FigureTable.Figure,
    beside: FigureTable.Figure | undefined,
    bare: FigureTable.Figure,
    atMost?: number
  ): FigureTable.Row => ({
    what,
    holdfast,
    beside,
    bare,
    unit: "ms",
    aim: atMost === undefined ? undefined : { atMost }
  })
  FigureTable.print(`Time to the first delta, turns of ${SHORT.deltas} deltas`, [
    ms("a lone durable turn, against raw-durable", lone.here, lone.beside, lone.rawDurable, 2),
    ms("  against raw-parse", lone.here, lone.beside, lone.rawParse),
    ms("  against Holdfast in memory", lone.here, undefined, lone.memory),
    ms(`${AT_ONCE} at once in memory, against raw-parse`, crowds.here, crowds.beside, crowds.rawParse, 1.5),
    ms(`${AT_ONCE} at once durable, against raw-durable`, crowds.durable, crowds.durableBeside, crowds.rawDurable)
  ])
}

interface Speed {
  readonly perSecond: number
  /** Of the server, in microseconds: where provider, server and client share two cores, it is the steadier figure. */
  readonly cpuADelta: number
}

/** Of a crowd, from its first request to its last answer's end. */
const speedOf = async (process: Processes.Process, server: Client.Server, manner: Client.Manner): Promise<Speed> => {
  const prepared = await crowdOf(server, manner)
  const cpuBefore = Processes.cpuMs(process)
  const start = performance.now()
  const turns = await Promise.all(prepared.map((turn) => Client.stream(server, turn)))
  const seconds = (performance.now() - start) / 1_000
  const deltas = turns.reduce((sum, turn) => sum + turn.deltas, 0)
  if (deltas !== AT_ONCE * manner.deltas) throw new Error(`${deltas} deltas came, ${AT_ONCE * manner.deltas} were sent`)
  return { perSecond: deltas / seconds, cpuADelta: ((Processes.cpuMs(process) - cpuBefore) * 1_000) / deltas }
}

/** At the median of a crowd. */
const firstMs = async (server: Client.Server): Promise<number> => {
  const prepared = await crowdOf(server, SHORT)
  const turns = await Promise.all(prepared.map((turn) => Client.stream(server, turn)))
  return FigureTable.median(turns.map((turn) => turn.firstMs))
}

const crowdOf = (server: Client.Server, manner: Client.Manner) =>
  Promise.all(Array.from({ length: AT_ONCE }, () => server.prepare(manner)))

const one = async (server: Client.Server) => Client.stream(server, await server.prepare(SHORT))
