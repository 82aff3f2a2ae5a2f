/**
 * The wait that a turn is in, as its journal tells it: what is known of a parked turn, without running it.
 *
 * It looks at the end of a journal alone, so it costs the same however much a turn has been through.
 */
import { Directive, RetryStrategy } from "@holdfast/kernel"
import { type Failure, Target, type TurnEvent } from "@holdfast/wire"
import { Effect } from "effect"
import type { Journal, Record } from "../storage/Journal.ts"
import type { StorageError, Unsealed } from "../storage/Store.ts"
import * as TurnRecord from "./TurnRecord.ts"

export interface RecordedWait {
  /** 0-based. */
  readonly attempt: number
  readonly delayMs: number
  /** Epoch milliseconds; with `asks`, until when there can be an answer. */
  readonly retryAt: number
  /** It waits for a person (X11). */
  readonly asks: TurnEvent.Asks | undefined
  readonly failure: Failure.Failure
  /** `provider/model` that failed, where a command (X4) or a router has sent the turn there. */
  readonly target: string | undefined
  /** The credential that the retry goes to, where it was chosen. */
  readonly credential?: string
}

/** The wait that has begun and not ended; `undefined` where the turn does something else. */
export const of = (records: ReadonlyArray<Record>): RecordedWait | undefined => {
  const at = records.findLastIndex((record) => TurnRecord.nameOf(record)?.kind === "Decision")
  const decision = records[at] && TurnRecord.of(records[at])
  if (decision?._tag !== "Decision" || decision.directive._tag !== "Retry") return undefined

  const { directive } = decision
  if (Directive.isImmediate(directive)) return undefined
  let { retryAt, delayMs } = directive
  let asks: TurnEvent.Asks | undefined
  const begunAt = retryAt - delayMs
  for (const record of records.slice(at + 1)) {
    const wake = TurnRecord.wakeOf(record)
    if (wake === undefined || RetryStrategy.endsWait(wake)) return undefined
    if (wake.type !== "until" && wake.type !== "asked") continue
    retryAt = wake.until
    delayMs = Math.max(0, retryAt - begunAt)
    asks = wake.type === "asked" ? wake.asks : undefined
  }
  const failed = records.findLast((record) => isCall(TurnRecord.nameOf(record), decision))
  const outcome = failed && (TurnRecord.outcomeOf(failed) ?? TurnRecord.compactionOf(failed))
  if (outcome?._tag !== "Failed") return undefined
  const target = targetOf(records.slice(0, at))
  const credential = directive.route?.credential
  return {
    attempt: directive.attempt,
    delayMs,
    retryAt,
    asks,
    failure: outcome.failure,
    target,
    ...(credential === undefined ? undefined : { credential })
  }
}

/** A wait as whoever takes the turn up has to know it. */
export interface Begun extends TurnRecord.Begun {
  /** Its end has changed since it began: somebody moved it, or was asked. */
  readonly isMoved: boolean
}

/**
 * The wait that a turn is in by its last record; `undefined` where it is in none. The records before are read for one that was moved,
 * and for no other.
 */
export const begunBy = (
  journal: Pick<Journal["Service"], "load">,
  { tail, turnId }: Pick<Unsealed, "tail" | "turnId">
): Effect.Effect<Begun | undefined, StorageError> => {
  const known = tail && begunByTail(tail)
  if (known === "Moved") return Effect.map(journal.load(turnId), movedOf)
  return Effect.succeed(known && { ...known, isMoved: false })
}

// --- internal

/** What a last record says of the wait that it belongs to; `Moved`: its end is told by the records before (`of`). */
const begunByTail = (tail: Record): TurnRecord.Begun | "Moved" | undefined => {
  switch (TurnRecord.nameOf(tail)?.kind) {
    case "Decision":
      return TurnRecord.begunBy(tail)
    case "Wake": {
      const wake = TurnRecord.wakeOf(tail)
      return wake === undefined || RetryStrategy.endsWait(wake) ? undefined : "Moved"
    }
    default:
      return undefined
  }
}

const movedOf = (records: ReadonlyArray<Record>): Begun | undefined => {
  const wait = of(records)
  if (wait === undefined) return undefined
  const { delayMs, retryAt } = wait
  const target = wait.target === undefined ? undefined : Target.parse(wait.target)
  return { delayMs, retryAt, isMoved: true, ...(target === undefined ? undefined : { route: { target } }) }
}

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
