/**
 * Counts the deaths of a turn's processes and the defects of the service while it ran the turn.
 *
 * Pure: it takes the state on disk and returns the state to write.
 *
 * - A turn was calling its provider, streaming or in a tool, and another process takes it up: that counts as a death,
 *   unless the earlier process had stopped the turn in good order. A process that has the turn again has not died, and may die yet.
 * - Deaths count in a row: a record that ends something, or an orderly stop, resets the count. A record that only
 *   marks a beginning, or states that a process died, ends nothing: a turn whose process dies in every answer writes several in each life.
 * - At `SUSPECT` deaths a turn is run alone. A death while it waits for that does not count: it ran nothing.
 * - Defects count over the whole life of a turn (C10).
 */
import { Records } from "@holdfast/kernel"
import { ModelContext } from "@holdfast/kernel/host"
import type { Failure } from "@holdfast/wire"

/** The state on disk of a turn that was interrupted: its process ended during a call or a tool, or a defect stopped it. */
export interface Interruption {
  /** The process that runs the turn, or ran it last (`Life`). */
  readonly life: string
  /** The number of the turn's records when that process took it up. */
  readonly seen: number
  /** Deaths in a row. */
  readonly deaths: number
  /** That process has begun to run it alone. */
  readonly isAlone: boolean
  /** That process has stopped the turn in good order. */
  readonly isOrderly: boolean
  /** Defects of the service while it ran the turn (C10). */
  readonly defects: number
}

/** After this number of deaths in a row a turn is run alone (rule X14). One might be the machine's, two a coincidence. */
export const SUSPECT = 3

/** At this number of defects a turn is sealed: it is tried again twice (rule C10). */
export const MOST_DEFECTS = 3

/** The state of a turn without an interruption. */
export const none = (life: string): Interruption => ({
  life,
  seen: 0,
  deaths: 0,
  isAlone: false,
  isOrderly: false,
  defects: 0
})

/** What a process reads when it takes a turn up. */
export interface Found {
  /** The process that takes the turn up. */
  readonly life: string
  /** The number of the turn's records. */
  readonly records: number
  /** The records added since the turn was last taken up. */
  readonly since: ReadonlyArray<Records.Stored>
}

/** The state after a process takes up a turn that was calling its provider, streaming or in a tool. */
export const takenUp = (known: Interruption | undefined, found: Found): Interruption => ({
  ...none(found.life),
  seen: found.records,
  deaths: deathsOf(known, found),
  defects: known?.defects ?? 0
})

/** How a turn that is taken up is run. */
export type RunPlan =
  /** Run it beside other turns. */
  | { readonly _tag: "Together" }
  /** Run it after the others, and alone until its next record. */
  | { readonly _tag: "Alone" }
  /** Seal it with this failure, without running it again. */
  | { readonly _tag: "Seal"; readonly failure: Failure.Failure }

/** Decides how a turn that is taken up is run. */
export const runPlanOf = ({ deaths, defects }: Pick<Interruption, "deaths" | "defects">): RunPlan => {
  if (deaths > SUSPECT) return { _tag: "Seal", failure: diedIn(deaths) }
  if (defects >= MOST_DEFECTS) return { _tag: "Seal", failure: stoppedBy(defects) }
  return deaths === SUSPECT ? { _tag: "Alone" } : TOGETHER
}

/** The failure of a turn that defects have stopped; `why` is the message of the last one. */
export const stoppedBy = (defects: number, why?: string): Failure.Failure => ({
  reason: "unknown",
  message:
    `Holdfast itself failed ${defects} times while it ran this turn, so the turn is not run again. ` +
    (why === undefined ? "" : `The last time: ${why.endsWith(".") ? why : `${why}.`} `) +
    "This is a bug of Holdfast; its log has the details. The turn's output so far is kept; retry the turn once the bug is fixed.",
  retryable: false,
  defect: true
})

/** Whether a record ends something, so that the turn has made progress. */
export const isProgress = (record: Records.Stored): boolean => {
  switch (Records.positionOf(record.name)?.kind) {
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

const TOGETHER: RunPlan = { _tag: "Together" }

const deathsOf = (known: Interruption | undefined, { life, since }: Found): number => {
  if (known === undefined) return 1
  if (known.isOrderly) return 0
  const hasDied = known.life !== life
  const before = since.some(isProgress) ? 0 : known.deaths
  if (before === SUSPECT && !known.isAlone) return SUSPECT
  return hasDied ? before + 1 : before
}

const diedIn = (deaths: number): Failure.Failure => ({
  reason: "unknown",
  message:
    `The process died ${deaths} times in a row while this turn was calling its provider or running a tool, the last time with no ` +
    "other turn beside it, so the turn is not run again. Its output so far is kept. Check the log and the memory use for the cause " +
    "(an endless answer, a tool that ends the process), then retry the turn.",
  retryable: false,
  defect: true
})
