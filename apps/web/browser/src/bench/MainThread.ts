/**
 * Reads from a trace what the main thread of a page did, in processor time.
 *
 * MainThread.T1. Processor time leaves out the time that the machine gave to other processes, so a figure means the same on a busy machine.
 * MainThread.T2. Each moment of a task counts once: as what its innermost event was.
 */

/** An event of a trace, as far as it is read. Times are in microseconds; `tdur` is processor time. */
interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur?: number
  readonly tdur?: number
}

/** What a main thread did. */
export interface Work {
  /** Tasks above 50 ms of processor time. */
  readonly tasksAbove50: number
  /** The same by the clock: with the time of other processes in between. */
  readonly tasksAbove50ByClock: number
  /** The longest task, of processor time. */
  readonly longestTaskMs: number
  readonly ms: Readonly<Record<Kind | "all", number>>
}

/** What a moment of a task is. */
export type Kind = "script" | "layout" | "paint" | "other"

/** What to record of a page for `read`. */
export const CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "blink.user_timing"]

/** The moments between which work is read: names of marks of the page. */
export interface Between {
  readonly to: string
  /** So many milliseconds earlier. */
  readonly earlierMs?: number
  /** Without it, from the beginning of the trace. */
  readonly from?: string
}

/** The work between two moments of a page. */
export const read = (trace: Buffer, { earlierMs = 0, from, to }: Between): Work => {
  const { traceEvents } = JSON.parse(trace.toString()) as { readonly traceEvents: ReadonlyArray<TraceEvent> }
  const end = traceEvents.findLast(({ name }) => name === to)
  if (end === undefined) throw new Error(`The trace has no ${to}.`)
  const { pid, tid } = end
  const begin = from === undefined ? undefined : traceEvents.find((event) => event.name === from && event.pid === pid)
  const beganAt = begin?.ts ?? 0
  const endedAt = end.ts - earlierMs * 1_000
  const events = traceEvents
    .filter(
      (event) =>
        event.ph === "X" && event.pid === pid && event.tid === tid && event.ts >= beganAt && event.ts <= endedAt
    )
    .toSorted((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))
  return tally(events)
}

// --- internal

const KINDS: Readonly<Record<string, Kind>> = {
  EvaluateScript: "script",
  FunctionCall: "script",
  FireAnimationFrame: "script",
  FireIdleCallback: "script",
  TimerFire: "script",
  EventDispatch: "script",
  RunMicrotasks: "script",
  MinorGC: "script",
  MajorGC: "script",
  "v8.compile": "script",
  "v8.compileModule": "script",
  "v8.evaluateModule": "script",
  Layout: "layout",
  UpdateLayoutTree: "layout",
  PrePaint: "paint",
  Paint: "paint",
  Layerize: "paint",
  Commit: "paint"
}

interface Open {
  readonly endsAt: number
  readonly kind: Kind
}

const tally = (events: ReadonlyArray<TraceEvent>): Work => {
  const us = { script: 0, layout: 0, paint: 0, other: 0 }
  const open: Array<Open> = []
  let [all, above, aboveByClock, longest] = [0, 0, 0, 0]
  for (const { dur = 0, name, tdur = 0, ts } of events) {
    while (open.length > 0 && (open.at(-1)?.endsAt ?? 0) <= ts) open.pop()
    const outer = open.at(-1)
    const kind = KINDS[name] ?? outer?.kind ?? "other"
    if (name === "RunTask") {
      if (outer !== undefined) continue
      all += tdur
      longest = Math.max(longest, tdur)
      if (tdur > LONG_US) above++
      if (dur > LONG_US) aboveByClock++
    } else if (outer === undefined) continue
    // MainThread.T2
    if (outer !== undefined) us[outer.kind] -= tdur
    us[kind] += tdur
    open.push({ endsAt: ts + dur, kind })
  }
  const { layout, other, paint, script } = us
  return {
    tasksAbove50: above,
    tasksAbove50ByClock: aboveByClock,
    longestTaskMs: longest / 1_000,
    ms: { script: script / 1_000, layout: layout / 1_000, paint: paint / 1_000, other: other / 1_000, all: all / 1_000 }
  }
}

const LONG_US = 50_000
