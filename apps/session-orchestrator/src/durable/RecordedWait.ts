/**
 * The wait that a turn is in, as its journal tells it: what is known of a parked turn, without running it.
 *
 * It looks at the end of a journal alone, so it costs the same however much a turn has been through.
 */
import { Directive } from "@holdfast/kernel"
import { type Failure, Target } from "@holdfast/wire"
import { Effect } from "effect"
import type { Journal, Record } from "../storage/Journal.ts"
import type { StorageError, Unsealed } from "../storage/Store.ts"
import * as TurnRecord from "./TurnRecord.ts"

export interface RecordedWait {
  /** 0-based. */
  readonly attempt: number
  readonly delayMs: number
  /** Epoch milliseconds. */
  readonly retryAt: number
  readonly failure: Failure.Failure
  /** `provider/model` that failed, where a command (X4) or a router has sent the turn there. */
  readonly target: string | undefined
}

/** The wait that has begun and not ended; `undefined` where the turn does something else. */
export const of = (records: ReadonlyArray<Record>): RecordedWait | undefined => {
  const at = records.findLastIndex((record) => TurnRecord.nameOf(record)?.kind === "Decision")
  const decision = records[at] && TurnRecord.of(records[at])
  if (decision?._tag !== "Decision" || decision.directive._tag !== "Retry") return undefined

  const { directive } = decision
  if (Directive.isImmediate(directive)) return undefined
  let { retryAt, delayMs } = directive
  const begunAt = retryAt - delayMs
  for (const record of records.slice(at + 1)) {
    const wake = TurnRecord.wakeOf(record)
    if (wake?.type === "until") [retryAt, delayMs] = [wake.until, Math.max(0, wake.until - begunAt)]
    else if (wake?.type !== "extended") return undefined
  }
  const failed = records.findLast((record) => isCall(TurnRecord.nameOf(record), decision))
  const outcome = failed && (TurnRecord.outcomeOf(failed) ?? TurnRecord.compactionOf(failed))
  if (outcome?._tag !== "Failed") return undefined
  const target = targetOf(records.slice(0, at))
  return { attempt: directive.attempt, delayMs, retryAt, failure: outcome.failure, target }
}

/**
 * The end of the wait that a turn's last record begins, in epoch milliseconds; `undefined` where it begins none. `Moved` says that
 * somebody changed the wait since it began: its end is then told by the records before (`of`).
 */
export const wakeAtOf = (tail: Record): number | "Moved" | undefined => {
  switch (TurnRecord.nameOf(tail)?.kind) {
    case "Decision":
      return TurnRecord.retryAtOf(tail)
    case "Wake": {
      const wake = TurnRecord.wakeOf(tail)
      return wake?.type === "until" || wake?.type === "extended" ? "Moved" : undefined
    }
    default:
      return undefined
  }
}

/** The same, wherever it is told: the records before are read for a wait that was moved, and for no other. */
export const endOf = (
  journal: Pick<Journal["Service"], "load">,
  { tail, turnId }: Pick<Unsealed, "tail" | "turnId">
): Effect.Effect<number | undefined, StorageError> => {
  const known = tail && wakeAtOf(tail)
  return known === "Moved" ? Effect.map(journal.load(turnId), (records) => of(records)?.retryAt) : Effect.succeed(known)
}

// --- internal

/** Whether a name is that of the call which a decision is about. */
const isCall = (name: ReturnType<typeof TurnRecord.nameOf>, { number, step }: TurnRecord.Place): boolean =>
  name !== undefined && CALLS.has(name.kind) && name.step === step && name.number === number

const CALLS = new Set<TurnRecord.Kind>(["Attempt", "Compaction"])

const targetOf = (records: ReadonlyArray<Record>): string | undefined => {
  const target = records
    .filter((record) => DIRECTING.has(TurnRecord.nameOf(record)?.kind))
    .map((record) => {
      const read = TurnRecord.of(record)
      return read && TurnRecord.targetOf(read)
    })
    .findLast((target) => target !== undefined)
  return target && Target.format(target)
}

/** Kinds of records that send a turn somewhere. */
const DIRECTING = new Set<TurnRecord.Kind | undefined>(["Route", "Decision", "Wake"])
