/**
 * Reads the courses of the turns in sight, block by block.
 *
 * useCourses.C1. A turn that has ended is read once. The others are read again with the list.
 */
import type { TurnCourse, TurnState } from "@holdfast/wire"
import { keepPreviousData, useQueries } from "@tanstack/react-query"
import * as Service from "../service/Service.ts"
import { useSettled } from "../time/Now.ts"

/** Rows of one call. */
const BLOCK = 25

/** A scroll that goes on reads nothing. */
const QUIET_MS = 120

/** The courses of the drawn turns, as far as they have been read; a row may have none. `readAt` is when the list was. */
export const useCourses = (
  rows: ReadonlyArray<{ readonly turn?: TurnState.TurnSummary }>,
  { end, first }: { readonly first: number; readonly end: number },
  readAt: number
): ReadonlyMap<string, TurnCourse.TurnCourse> => {
  const from = useSettled(Math.floor(first / BLOCK), QUIET_MS)
  const to = useSettled(Math.ceil(end / BLOCK), QUIET_MS)
  const blocks = Array.from({ length: Math.max(0, to - from) }, (_, n) =>
    rows.slice((from + n) * BLOCK, (from + n + 1) * BLOCK).flatMap(({ turn }) => turn ?? [])
  )
  return useQueries({
    queries: blocks.map((block) => {
      const isOver = block.every(({ endedAt }) => endedAt !== undefined)
      return {
        queryKey: ["courses", block.map(({ turnId }) => turnId), isOver ? 0 : readAt],
        queryFn: ({ signal }: { readonly signal: AbortSignal }) => read(block, signal),
        staleTime: Number.POSITIVE_INFINITY,
        placeholderData: keepPreviousData,
        enabled: block.length > 0
      }
    }),
    combine: (found) =>
      new Map(found.flatMap(({ data = [] }) => data.map((course) => [course.turnId, course] as const)))
  })
}

// --- internal

/** Courses of turns that have ended: they do not change (useCourses.C1). */
const ended = new Map<string, TurnCourse.TurnCourse>()

/** More than a person scrolls through. */
const MOST_KEPT = 10_000

const read = async (
  block: ReadonlyArray<TurnState.TurnSummary>,
  signal: AbortSignal
): Promise<ReadonlyArray<TurnCourse.TurnCourse>> => {
  const missing = block.filter(({ turnId }) => !ended.has(turnId))
  const found =
    missing.length === 0
      ? []
      : await Service.client.readCourses(
          missing.map(({ turnId }) => turnId),
          { signal }
        )
  if (ended.size > MOST_KEPT) ended.clear()
  const over = new Set(missing.filter(({ endedAt }) => endedAt !== undefined).map(({ turnId }) => turnId))
  for (const course of found) if (over.has(course.turnId)) ended.set(course.turnId, course)
  return [...found, ...block.flatMap(({ turnId }) => (over.has(turnId) ? [] : (ended.get(turnId) ?? [])))]
}
