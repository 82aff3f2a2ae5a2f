/**
 * Measures how late parked turns call, and what a wake costs: two crowds, each due within one second, on a database in which all turns
 * wait. At the first crowd the process has made no call before. `service` measures Holdfast, `bare` a loop by hand over the same rows.
 */
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
export const service = (
  place: Processes.Place,
  provider: FailingProvider,
  prepared: Prepared.Prepared,
  parked: string,
  due: number
): Promise<Crowds> =>
  crowds(place, provider, prepared, parked, due, (database) =>
    Service.start(place, prepared.tree, { database, provider: provider.port, turns: prepared.turns })
  )

/** The same of a loop by hand over the same rows. */
export const bare = (
  place: Processes.Place,
  provider: FailingProvider,
  prepared: Prepared.Prepared,
  parked: string,
  due: number
): Promise<Crowds> =>
  crowds(place, provider, prepared, parked, due, (database) =>
    Processes.server(place, "parking/BareWakes.ts", String(provider.port), database)
  )

// --- internal

/** The time that a start is given before the first turn is due. */
const untilDueMs = (turns: number): number => 8_000 + turns / 10

const crowds = async (
  place: Processes.Place,
  provider: FailingProvider,
  { sql, turns }: Prepared.Prepared,
  parked: string,
  due: number,
  start: (database: string) => Promise<Processes.Process>
): Promise<Crowds> => {
  const database = Prepared.copyOf(place, parked)
  const from = Date.now() + untilDueMs(turns)
  const times = [from, from + BETWEEN_MS]
  sql.makeDue(database, due, ...times)
  const lags = times.map((at) => provider.expect(sql.dueTimes(database, at)))
  const process = await start(database)
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
