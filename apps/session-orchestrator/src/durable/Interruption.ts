/**
 * Counts the deaths of a turn's processes and the defects of the service while it ran the turn.
 *
 * Pure: what is on disk goes in, what is to be written comes out.
 *
 * Interruption.I1. A death counts when a turn that was in the middle of something is taken up by another process than the one that had
 *     it, and that one had not stopped in good order.
 * Interruption.I2. Deaths count in a row: a record that ends something, or an orderly stop, begins the count anew. A record that only
 *     marks a beginning, or states that a process died, ends nothing: a turn that dies in every answer writes several in each life.
 * Interruption.I3. At `SUSPECT` deaths a turn is run alone. A death while it waits for that does not count: it ran nothing.
 * Interruption.I4. Defects count over the whole life of a turn (C10).
 */
import { ModelContext, Records } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import type { Record } from "./Journal.ts"

/** What is on disk of a turn that was in the middle of something when its process ended, or that a defect stopped. */
export interface Interruption {
  /** The process that has the turn, or had it last. */
  readonly life: string
  /** How many records the turn had when that process took it up. */
  readonly seen: number
  /** Deaths in a row (I2). */
  readonly deaths: number
  /** That process has begun to run it alone. */
  readonly isAlone: boolean
  /** That process has stopped the turn in good order. */
  readonly isOrderly: boolean
  /** Defects of the service while it ran the turn (C10). */
  readonly defects: number
}

/** From so many deaths on a turn is run alone (X14). One might be the machine's, two a coincidence. */
export const SUSPECT = 3

/** At so many defects a turn is sealed: it is tried again twice (C10). */
export const MOST_DEFECTS = 3

/** A turn that nothing has interrupted yet. */
export const none = (life: string): Interruption => ({
  life,
  seen: 0,
  deaths: 0,
  isAlone: false,
  isOrderly: false,
  defects: 0
})

/** What a process finds when it takes a turn up. */
export interface Found {
  /** The process that takes it up. */
  readonly life: string
  /** How many records the turn has. */
  readonly records: number
  /** Those that have come since it was last taken up. */
  readonly since: ReadonlyArray<Record>
}

/** A process takes up a turn that was in the middle of something. */
export const takenUp = (known: Interruption | undefined, { life, records, since }: Found): Interruption => {
  if (known?.life === life) return known // I1: it has not died
  return {
    life,
    seen: records,
    deaths: deathsOf(known, since),
    isAlone: false,
    isOrderly: false,
    defects: known?.defects ?? 0
  }
}

/** What is to be done with a turn that is taken up. */
export type Verdict =
  /** It is run as any other. */
  | { readonly _tag: "Together" }
  /** It is run after the others, and alone until its next record. */
  | { readonly _tag: "Alone" }
  /** It is not run again. */
  | { readonly _tag: "Seal"; readonly failure: Failure.Failure }

/** Decides what is to be done with a turn. */
export const verdictOf = ({ deaths, defects }: Pick<Interruption, "deaths" | "defects">): Verdict => {
  if (deaths > SUSPECT) return { _tag: "Seal", failure: diedIn(deaths) }
  if (defects >= MOST_DEFECTS) return { _tag: "Seal", failure: stoppedBy(defects) }
  return deaths === SUSPECT ? { _tag: "Alone" } : TOGETHER
}

/** What a turn fails with whose last defect says `why`. */
export const stoppedBy = (defects: number, why?: string): Failure.Failure => ({
  reason: "unknown",
  message:
    `Holdfast itself failed ${defects} times while it ran this turn, so the turn is not run again. ` +
    (why === undefined ? "" : `The last time: ${why.endsWith(".") ? why : `${why}.`} `) +
    "This is a bug of Holdfast; its log has more. What the turn had said is kept; retry it once the bug is mended.",
  retryable: false,
  defect: true
})

/** Whether a record ends something, so that the turn has come further (I2). */
export const isProgress = (record: Record): boolean => {
  switch (Records.placeOf(record.name)?.kind) {
    case "Content":
    case "Begun":
    case "Route":
    case "Final":
      return false
    case "Attempt":
      return Records.valueOf("Attempt", record)?._tag !== "Lost"
    case "Tool":
      return Records.valueOf("Tool", record)?.output !== ModelContext.INTERRUPTED
    default:
      return true
  }
}

// --- internal

const TOGETHER: Verdict = { _tag: "Together" }

const deathsOf = (known: Interruption | undefined, since: ReadonlyArray<Record>): number => {
  if (known === undefined) return 1
  if (known.isOrderly) return 0
  if (since.some(isProgress)) return 1
  if (known.deaths === SUSPECT && !known.isAlone) return SUSPECT // I3
  return known.deaths + 1
}

const diedIn = (deaths: number): Failure.Failure => ({
  reason: "unknown",
  message:
    `The process died ${deaths} times in a row while this turn was calling its provider or running a tool, the last time with no ` +
    "other turn beside it, so the turn is not run again. What it had said is kept. Look into the log, and at the memory, for why the " +
    "process died (an answer without end, a tool that takes it down), then retry the turn.",
  retryable: false,
  defect: true
})
