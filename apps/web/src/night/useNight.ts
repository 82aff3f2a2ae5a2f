/**
 * Reads the turns of a period and its report, again and again.
 *
 * The turns of a period are those that ended in it, and those that have not ended. A list of the service has one status, so there is a call for each.
 */
import type { TurnState } from "@holdfast/wire"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import * as Service from "../service/Service.ts"
import * as Period from "./Period.ts"

/** The turns that a person looks for. */
export interface Filter {
  readonly hours: number
  readonly status: TurnState.TurnState["status"] | undefined
  readonly model: string
  readonly tag: string
  readonly search: string
}

/** The turns that were found. */
export interface Night {
  readonly turns: ReadonlyArray<TurnState.TurnSummary>
  /** There are more than are shown. */
  readonly isCut: boolean
  readonly since: number
  readonly until: number
}

const EVERY_MS = 20_000

/** The turns of a filter, newest first. */
export const useNight = (filter: Filter) =>
  useQuery({
    queryKey: ["night", filter],
    queryFn: ({ signal }) => read(filter, signal),
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData
  })

/** The report of a period. */
export const useReport = (hours: number) =>
  useQuery({
    queryKey: ["report", hours],
    queryFn: ({ signal }) =>
      Service.client.report({ since: Period.sinceOf(hours, Date.now() + Service.clockSkewMs()), signal }),
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData
  })

// --- internal

/** More than a person looks through; a filter finds the others. */
const MOST = 5_000

const ENDED = ["completed", "failed", "aborted"] as const
const OPEN = ["waiting", "running", "queued"] as const

const read = async ({ hours, status, ...texts }: Filter, signal: AbortSignal): Promise<Night> => {
  const [model, tag, search] = [texts.model.trim(), texts.tag.trim(), texts.search.trim()]
  const until = Date.now() + Service.clockSkewMs()
  const since = Period.sinceOf(hours, until)
  const common = {
    signal,
    ...(model === "" ? {} : { model }),
    ...(tag === "" ? {} : { tag }),
    ...(search === "" ? {} : { search })
  }
  const statuses = status === undefined ? [...OPEN, ...ENDED] : [status]
  const lists = await Promise.all(
    statuses.map((status) => {
      const isEnd = ENDED.some((end) => end === status)
      return Service.first(Service.client.listTurns({ ...common, status, ...(isEnd ? { since } : {}) }), MOST + 1)
    })
  )
  // A turn that ended between two calls is in both.
  const found = [...new Map(lists.flat().map((turn) => [turn.turnId, turn])).values()].toSorted(
    (a, b) => b.acceptedAt - a.acceptedAt
  )
  return { turns: found.slice(0, MOST), isCut: found.length > MOST, since, until }
}
