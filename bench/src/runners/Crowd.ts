/** Turns that wait on disk, divided among runners, and become due at one moment: how late each calls its provider. */
import * as FigureTable from "../FigureTable.ts"
import type { FailingProvider } from "../parking/FailingProvider.ts"
import * as OverHttp from "../parking/OverHttp.ts"
import * as Processes from "../Processes.ts"
import * as Fleet from "./Fleet.ts"

/** A waiting turn has left memory by then. */
const LEFT_MS = 12_000
/** One page of the list of turns. */
const PAGE = 200
/** A runner reads turns up to 4 s before they are due; the commands before that take it some milliseconds each. */
const aheadMs = (turns: number): number => 5_000 + 15 * turns

export interface Wakes {
  readonly medianMs: number
  readonly p99Ms: number
  /** Of all runners, in microseconds for each wake. */
  readonly cpu: number
}

/** Has turns wait for an hour, in conversations of this model. */
export const park = async (fleet: Fleet.Fleet, turns: number, model: string): Promise<void> => {
  const places: Array<OverHttp.Place> = []
  for (let n = 0; n < turns; n++) {
    const { path, server } = await Fleet.open(fleet, n, "stay", { model })
    places.push({ origin: `http://127.0.0.1:${server.port}`, path })
  }
  await OverHttp.handIn(places, "watched", 64)
}

/** Makes all waiting turns of a model due at one moment; they fail, and wait for the next crowd. */
export const wake = async (
  fleet: Fleet.Fleet,
  turns: number,
  model: string,
  provider: FailingProvider
): Promise<Wakes> => {
  await Processes.pause(LEFT_MS)
  const dueAt = Date.now() + aheadMs(turns)
  const lags = provider.expect(new Map(Array.from({ length: turns }, (_, n) => [String(n), dueAt])))
  const before = Fleet.cpuMs(fleet)
  const body = { command: { type: "wait-until", until: dueAt }, filter: { model, status: "waiting" }, limit: PAGE }
  let page: Processes.Answer = {}
  do {
    const { next } = page
    page = await Processes.post(Fleet.at(fleet, 0).port, "/v1/turns/commands", {
      ...body,
      ...(next && { cursor: next })
    })
  } while (page.next !== undefined)
  if (Date.now() > dueAt - 4_000) throw new Error("The crowd was due before all of it was told so.")
  const late = await lags
  return {
    medianMs: FigureTable.median(late),
    p99Ms: FigureTable.quantile(late, 0.99),
    cpu: ((Fleet.cpuMs(fleet) - before) * 1_000) / turns
  }
}
