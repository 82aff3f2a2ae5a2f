/** CPU and delay of a delta while models send at their own pace: the server is mostly idle, and every delta is a read of its own. */
import * as Client from "../Client.ts"
import * as Processes from "../Processes.ts"
import * as FigureTable from "../FigureTable.ts"
import * as Rounds from "../Rounds.ts"

/** 50 deltas a second, one a chunk, for ten seconds. */
const PACED: Client.Manner = { deltas: 500, chunk: 1, every: 20 }
export const MANNERS = [PACED]

const STREAMS = [20, 100] as const
/** Behind the beginning of all streams, and before the end of the first. */
const SETTLE_MS = 1_500
const WINDOW_MS = 6_000

/** The service in both checkouts. */
export interface Pair {
  readonly here: Processes.Process
  readonly beside: Processes.Process | undefined
}

export interface Servers {
  readonly rawParse: Processes.Process
  readonly rawTemplate: Processes.Process
  readonly durable: Pair
}

/** Measures and prints it. */
export const measure = async ({ durable, rawParse, rawTemplate }: Servers): Promise<void> => {
  const rows: Array<FigureTable.Row> = []
  for (const streams of STREAMS) {
    const paced = (process: Processes.Process | undefined, server: typeof Client.plain) =>
      process && (() => costOf(process, server(process.port), streams))
    const samples = await Rounds.alternate(
      {
        rawParse: paced(rawParse, Client.plain),
        here: paced(durable.here, Client.holdfast),
        beside: paced(durable.beside, Client.holdfast),
        rawTemplate: paced(rawTemplate, Client.plain)
      },
      Rounds.count(3)
    )
    const row = (
      what: string,
      of: keyof Cost,
      unit: string,
      bare: ReadonlyArray<Cost>,
      aim?: FigureTable.Aim
    ): FigureTable.Row => ({
      what,
      holdfast: samples.here.map((cost) => cost[of]),
      beside: samples.beside.map((cost) => cost[of]),
      bare: bare.map((cost) => cost[of]),
      unit,
      aim
    })
    rows.push(
      row(`CPU a delta, ${streams} streams, against raw-parse`, "cpuUs", "us", samples.rawParse, { atMost: 1.5 }),
      row("  against raw-template", "cpuUs", "us", samples.rawTemplate),
      row("  p50 from provider to client, against raw-parse", "p50Ms", "ms", samples.rawParse),
      row("  p99", "p99Ms", "ms", samples.rawParse, { atMost: 2 })
    )
  }
  FigureTable.print(`Paced streams: ${1_000 / PACED.every} deltas a second each, one a chunk`, rows)
}

// --- internal

interface Cost {
  /** Of all of the server's threads, a delta. */
  readonly cpuUs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const costOf = async (server: Processes.Process, client: Client.Server, streams: number): Promise<Cost> => {
  const prepared = await Promise.all(Array.from({ length: streams }, () => client.prepare(PACED)))
  let deltas = 0
  let delays: Array<number> = []
  const read = (count: number, lines: Buffer): void => {
    const now = process.hrtime.bigint()
    deltas += count
    for (const [, sent = ""] of lines.toString().matchAll(/word(\d+)/g)) delays.push(Number(now - BigInt(sent)) / 1e6)
  }
  const ended = Promise.all(prepared.map((turn) => Client.stream(client, turn, read)))
  await Processes.pause(SETTLE_MS)
  const before = { cpuMs: Processes.cpuMs(server), deltas }
  delays = []
  await Processes.pause(WINDOW_MS)
  const cpuUs = ((Processes.cpuMs(server) - before.cpuMs) * 1_000) / (deltas - before.deltas)
  const [p50Ms, p99Ms] = [FigureTable.quantile(delays, 0.5), FigureTable.quantile(delays, 0.99)]
  await ended
  return { cpuUs, p50Ms, p99Ms }
}
