/** Joins spans of time, and counts turns by time in equal parts of a period. Pure; the order of spans and turns changes nothing. */
import type { PeriodReport } from "@holdfast/wire"

/** A span of time, in epoch milliseconds. */
export interface TimeSpan {
  readonly from: number
  readonly to: number
}

/** The spans that are left where overlapping and touching ones are joined, in order. */
export const union = (spans: ReadonlyArray<TimeSpan>): ReadonlyArray<TimeSpan> => {
  const joined: Array<{ from: number; to: number }> = []
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    if (to <= from) continue
    const last = joined.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else joined.push({ from, to })
  }
  return joined
}

/** The length of all spans, added up. */
export const length = (spans: ReadonlyArray<TimeSpan>): number =>
  spans.reduce((sum, { from, to }) => sum + to - from, 0)

/** The part of a span within another one; `undefined`: there is none. */
export const within = ({ from, to }: TimeSpan, bounds: TimeSpan): TimeSpan | undefined => {
  const span = { from: Math.max(from, bounds.from), to: Math.min(to, bounds.to) }
  return span.from < span.to ? span : undefined
}

/** Parts of a period: a quarter of an hour each for a day. */
export const PARTS = 96

/** The counts so far. */
export class Timeline {
  private readonly since: number
  private readonly partMs: number
  /** By how much more turns wait in a part than in the part before. */
  private readonly changes = zeros(PARTS + 1)
  private readonly answers = zeros(PARTS)
  private readonly failures = zeros(PARTS)

  constructor(since: number, until: number) {
    this.since = since
    this.partMs = Math.max(1, (until - since) / PARTS)
  }

  /** Adds the waits of one turn, which are within the period. A turn counts once a part. */
  waited(spans: ReadonlyArray<TimeSpan>): void {
    let counted = -1
    for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
      const first = Math.max(counted + 1, this.partOf(from))
      const last = this.partOf(to)
      if (first > last) continue
      this.changes[first] = (this.changes[first] ?? 0) + 1
      this.changes[last + 1] = (this.changes[last + 1] ?? 0) - 1
      counted = last
    }
  }

  /** Adds an answered turn. */
  answered(at: number): void {
    count(this.answers, this.partOf(at))
  }

  /** Adds a failed turn. */
  failed(at: number): void {
    count(this.failures, this.partOf(at))
  }

  /** The counts. */
  parts(): PeriodReport.PeriodReport["timeline"] {
    let waiting = 0
    return {
      partMs: this.partMs,
      waiting: this.changes.slice(0, PARTS).map((change) => (waiting += change)),
      answered: [...this.answers],
      failed: [...this.failures]
    }
  }

  private partOf(at: number): number {
    return Math.min(PARTS - 1, Math.max(0, Math.floor((at - this.since) / this.partMs)))
  }
}

// --- internal

const zeros = (length: number): Array<number> => Array.from({ length }, () => 0)

const count = (counts: Array<number>, part: number): void => void (counts[part] = (counts[part] ?? 0) + 1)
