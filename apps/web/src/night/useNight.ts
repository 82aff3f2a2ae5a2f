/**
 * Reads the turns of a period and its report, again and again.
 *
 * The turns of a period are those that ended in it, and those that have not ended. A list of the service has one status, so there is a call for each.
 */
import type { TurnState } from "@holdfast/wire"
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query"
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
  /** More of them are being read. */
  readonly isPartial: boolean
  readonly since: number
  readonly until: number
}

const EVERY_MS = 20_000

/** The turns of a filter, newest first. At the first time they are shown while they are read. */
export const useNight = (filter: Filter) => {
  const queries = useQueryClient()
  const queryKey = ["night", filter]
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const isFirst = queries.getQueryData<Night>(queryKey)?.isPartial ?? true
      return read(filter, signal, (part) => {
        if (isFirst) queries.setQueryData(queryKey, part)
      })
    },
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
    // Thousands of turns would be compared with those before, in one task.
    structuralSharing: false
  })
}

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

/** Between two parts that are shown. */
const PART_MS = 300

const read = async (
  { hours, status, ...texts }: Filter,
  signal: AbortSignal,
  onPart: (night: Night) => void
): Promise<Night> => {
  const [model, tag, search] = [texts.model.trim(), texts.tag.trim(), texts.search.trim()]
  const until = Date.now() + Service.clockSkewMs()
  const since = Period.sinceOf(hours, until)
  const common = {
    signal,
    limit: Service.MOST_OF_CALL,
    ...(model === "" ? {} : { model }),
    ...(tag === "" ? {} : { tag }),
    ...(search === "" ? {} : { search })
  }
  // A turn that ended between two calls is in both lists.
  const found = new Map<string, TurnState.TurnSummary>()
  const nightOf = (isPartial: boolean): Night => {
    const turns = [...found.values()].toSorted((a, b) => b.acceptedAt - a.acceptedAt)
    return { turns: turns.slice(0, MOST), isCut: turns.length > MOST, isPartial, since, until }
  }
  let shownAt = 0
  await Promise.all(
    (status === undefined ? [...OPEN, ...ENDED] : [status]).map(async (status) => {
      const isEnd = ENDED.some((end) => end === status)
      let count = 0
      for await (const turn of Service.client.listTurns({ ...common, status, ...(isEnd ? { since } : {}) })) {
        found.set(turn.turnId, turn)
        if (++count > MOST) break
        if (count % Service.MOST_OF_CALL !== 0 || Date.now() - shownAt < PART_MS) continue
        onPart(nightOf(true))
        shownAt = Date.now()
      }
    })
  )
  return nightOf(false)
}
