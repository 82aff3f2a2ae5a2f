/** Crowds that wake: 2,000 turns due within one second, twice, the first of them the first that their process calls for. */
import { join } from "node:path"
import * as Processes from "../Processes.ts"
import * as FigureTable from "../FigureTable.ts"
import type { FailingProvider } from "./FailingProvider.ts"
import * as Prepared from "./Prepared.ts"
import * as Service from "./Service.ts"

/** From the first crowd to the second: it has been dealt with, and the next is not in memory yet. */
const BETWEEN_MS = 12_000
/** The service reads turns up to 4 s before they are due, and deals with refusals within 2 s. */
const AHEAD_MS = 4_500
const BEHIND_MS = 5_500

export interface Crowd {
  readonly medianMs: number
  readonly p99Ms: number
  /** Of the process, in milliseconds, with what is done before and behind the call. */
  readonly cpuAWake: number
}

export interface Crowds {
  readonly first: Crowd
  readonly second: Crowd
}

/** Wakes turns of a database in which all wait. */
export const service = async (
  place: Processes.Place,
  provider: FailingProvider,
  { sql, tree, turns }: Prepared.Prepared,
  parked: string,
  due: number
): Promise<Crowds> => {
  const database = Prepared.copyOf(place, parked)
  const from = Date.now() + untilDueMs(turns)
  sql.makeDue(database, due, from, from + BETWEEN_MS)
  const lags = [from, from + BETWEEN_MS].map((at) => provider.expect(sql.dueTimes(database, at)))
  const process = await Service.start(place, tree, { database, provider: provider.port, turns })
  return crowds(process, from, lags, due)
}

let loops = 0

/** The same of a loop by hand: its waits are timers, and what it puts on disk is the outcome of the call. */
export const bare = async (place: Processes.Place, provider: FailingProvider, due: number): Promise<Crowds> => {
  const file = join(place.folder, `bare-wakes-${++loops}.db`)
  const process = await Processes.server(place, "parking/BareLoop.ts", String(provider.port), file)
  const from = Date.now() + untilDueMs(0)
  const lags = [from, from + BETWEEN_MS].map(async (at) => {
    // Prompts are the same in each crowd.
    await Processes.pause(at - AHEAD_MS - Date.now())
    const times = Array.from({ length: due }, (_, n) => [String(n), at + Math.floor((n / due) * 1_000)] as const)
    const expected = provider.expect(new Map(times))
    await Processes.post(process.port, "/due", { from: at, count: due })
    return expected
  })
  return crowds(process, from, lags, due)
}

// --- internal

/** The time that a start is given before the first turn is due. */
const untilDueMs = (turns: number): number => 8_000 + turns / 10

const crowds = async (
  process: Processes.Process,
  from: number,
  lags: ReadonlyArray<Promise<ReadonlyArray<number>>>,
  due: number
): Promise<Crowds> => {
  const crowd = async (at: number, lags: Promise<ReadonlyArray<number>> | undefined): Promise<Crowd> => {
    await Processes.pause(at - AHEAD_MS - Date.now())
    const before = Processes.cpuMs(process)
    const late = (await lags) ?? []
    await Processes.pause(at + BEHIND_MS - Date.now())
    const cpuAWake = (Processes.cpuMs(process) - before) / due
    return { medianMs: FigureTable.median(late), p99Ms: FigureTable.quantile(late, 0.99), cpuAWake }
  }
  const first = await crowd(from, lags[0])
  const second = await crowd(from + BETWEEN_MS, lags[1])
  await Processes.stop(process)
  return { first, second }
}
