/**
 * The wait that a turn is in, as its journal tells it: what is known of a parked turn, without running it.
 *
 * Names of records are the kernel's: `step/S/attempt/N`, `step/S/decision/N`, `step/S/sleep/N` and, for each further part
 * of a wait that somebody changed, `step/S/sleep/N/P`.
 */
import { Attempt, Directive, RetryStrategy } from "@holdfast/kernel"
import { type Failure, Target } from "@holdfast/wire"
import { Option, Schema } from "effect"
import type { Record } from "../storage/Journal.ts"

export interface RecordedWait {
  /** 0-based. */
  readonly attempt: number
  readonly delayMs: number
  /** Epoch milliseconds. */
  readonly retryAt: number
  readonly failure: Failure.Failure
  /** Where a command has sent the turn, if one has (X4). */
  readonly target: string | undefined
}

/** The wait that has begun and not ended; `undefined` where the turn does something else. */
export const of = (records: ReadonlyArray<Record>): RecordedWait | undefined => {
  const at = records.findLastIndex(({ name }) => name.includes("/decision/"))
  const decision = records[at]
  if (decision === undefined) return undefined
  const directive = Option.getOrUndefined(decodeDirective(decision.value))
  if (directive?._tag !== "Retry") return undefined

  let { retryAt, delayMs } = directive
  const begunAt = retryAt - delayMs
  for (const { name, value } of records.slice(at + 1)) {
    if (!name.startsWith(decision.name.replace("/decision/", "/sleep/"))) return undefined
    const wake = Option.getOrUndefined(decodeWake(value))
    if (wake?.type === "until") [retryAt, delayMs] = [wake.until, Math.max(0, wake.until - begunAt)]
    else if (wake?.type !== "extended") return undefined
  }
  const failed = records.find(({ name }) => name === decision.name.replace("/decision/", "/attempt/"))
  const outcome = failed && Option.getOrUndefined(decodeOutcome(failed.value))
  if (outcome?._tag !== "Failed") return undefined
  return { attempt: directive.attempt, delayMs, retryAt, failure: outcome.failure, target: targetOf(records) }
}

/** The end of the wait that a turn's last record begins, in epoch milliseconds; `undefined` where it begins none. */
export const wakeAtOf = ({ name, value }: Record): number | undefined => {
  if (!name.includes("/decision/")) return undefined
  const directive = Option.getOrUndefined(decodeDirective(value))
  return directive?._tag === "Retry" ? directive.retryAt : undefined
}

// --- internal

const decodeDirective = Schema.decodeUnknownOption(Schema.fromJsonString(Directive.Directive))
const decodeWake = Schema.decodeUnknownOption(Schema.fromJsonString(RetryStrategy.Wake))
const decodeOutcome = Schema.decodeUnknownOption(Schema.fromJsonString(Attempt.AttemptOutcome))

const targetOf = (records: ReadonlyArray<Record>): string | undefined => {
  const wakes = records.flatMap(({ name, value }) =>
    name.includes("/sleep/") ? Option.toArray(decodeWake(value)) : []
  )
  const switched = wakes.findLast((wake) => wake.type === "switched")
  return switched?.type === "switched" ? Target.format(switched.target) : undefined
}
