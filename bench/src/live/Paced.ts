/** CPU a delta while models send at their own pace: the server is mostly idle, and every delta is a read of its own. */
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
    const cpu = (process: Processes.Process | undefined, server: typeof Client.plain) =>
      process && (() => cpuADelta(process, server(process.port), streams))
    const samples = await Rounds.alternate(
      {
        rawParse: cpu(rawParse, Client.plain),
        here: cpu(durable.here, Client.holdfast),
        beside: cpu(durable.beside, Client.holdfast),
        rawTemplate: cpu(rawTemplate, Client.plain)
      },
      Rounds.count(3)
    )
    rows.push(
      {
        what: `CPU a delta, ${streams} streams, against raw-parse`,
        holdfast: samples.here,
        beside: samples.beside,
        bare: samples.rawParse,
        unit: "us",
        aim: { atMost: 1.2 }
      },
      { what: "  against raw-template", holdfast: samples.here, bare: samples.rawTemplate, unit: "us", aim: undefined }
    )
  }
  FigureTable.print(`Paced streams: ${1_000 / PACED.every} deltas a second each, one a chunk`, rows)
}

// --- internal

/** In microseconds, of all of the server's threads. */
const cpuADelta = async (process: Processes.Process, server: Client.Server, streams: number): Promise<number> => {
  const prepared = await Promise.all(Array.from({ length: streams }, () => server.prepare(PACED)))
  let deltas = 0
  const ended = Promise.all(prepared.map((turn) => Client.stream(server, turn, (count) => void (deltas += count))))
  await Processes.pause(SETTLE_MS)
  const before = { cpuMs: Processes.cpuMs(process), deltas }
  await Processes.pause(WINDOW_MS)
  const us = (Processes.cpuMs(process) - before.cpuMs) * 1_000
  const perDelta = us / (deltas - before.deltas)
  await ended
  return perDelta
}
