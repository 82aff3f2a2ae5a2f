/**
 * The wait that a turn is in, as its journal tells it: what is known of a parked turn, without running it.
 *
 * It looks at the end of a journal alone, so it costs the same however much a turn has been through.
 */
import { Directive, Records, RetryStrategy, Route } from "@holdfast/kernel"
import { type Failure, Target, type TurnEvent } from "@holdfast/wire"
import { Effect, Option, Predicate, Schema } from "effect"
import type { Journal, Record } from "./Journal.ts"
import type { StorageError, Unsealed } from "../storage/Store.ts"

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
  const at = records.findLastIndex((record) => Records.placeOf(record.name)?.kind === "Decision")
  const decision = records[at] && Records.parse(records[at])
  if (decision?.kind !== "Decision" || decision.value._tag !== "Retry") return undefined

  const directive = decision.value
  if (Directive.isImmediate(directive)) return undefined
  let { retryAt, delayMs } = directive
  let asks: TurnEvent.Asks | undefined
  const begunAt = retryAt - delayMs
  for (const record of records.slice(at + 1)) {
    const wake = Records.valueOf("Wake", record)
    if (wake === undefined || RetryStrategy.endsWait(wake)) return undefined
    if (wake.type !== "until" && wake.type !== "asked") continue
    retryAt = wake.until
    delayMs = Math.max(0, retryAt - begunAt)
    asks = wake.type === "asked" ? wake.asks : undefined
  }
  const failed = records.findLast((record) => isCall(record, decision))
  const outcome = failed && (Records.valueOf("Attempt", failed) ?? Records.valueOf("Compaction", failed))
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

/** A wait as the decision states it that begins it. */
interface Decided {
  /** The absolute end, in epoch milliseconds. */
  readonly retryAt: number
  readonly delayMs: number
  /** Where the retry goes, where it was sent somewhere. */
  readonly route?: Route.Route
  /** What the provider asked for, where that counted, in milliseconds. */
  readonly hintMs?: number
  /** What failed says nothing of the endpoint; absent: it does, or nobody wrote it down. */
  readonly ofEndpoint?: false
}

/** A wait as a host that takes the turn up has to know it. */
export interface Begun extends Decided {
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
const begunByTail = (tail: Record): Decided | "Moved" | undefined => {
  switch (Records.placeOf(tail.name)?.kind) {
    case "Decision":
      return decidedBy(tail)
    case "Wake": {
      const wake = Records.valueOf("Wake", tail)
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
const isCall = ({ name }: Record, { number, step }: Records.Place): boolean => {
  const place = Records.placeOf(name)
  return place !== undefined && CALLS.has(place.kind) && place.step === step && place.number === number
}

const CALLS = new Set<Records.Kind>(["Attempt", "Compaction"])

const targetOf = (records: ReadonlyArray<Record>): string | undefined => {
  const target = records
    .filter((record) => DIRECTING.has(Records.placeOf(record.name)?.kind))
    .map((record) => {
      const read = Records.parse(record)
      return read && Records.targetOf(read)
    })
    .findLast((target) => target !== undefined)
  return target && Target.format(target)
}

/** Kinds of records that send a turn somewhere. */
const DIRECTING = new Set<Records.Kind | undefined>(["Route", "Decision", "Wake"])

/**
 * The wait that a decision begins; `undefined` where it begins none.
 *
 * A start asks this of every turn that waits. It reads a few keys of the JSON and leaves the rest of the decision alone, which
 * makes it ten times as fast as decoding.
 */
const decidedBy = (record: Record): Decided | undefined => {
  if (Records.placeOf(record.name)?.kind !== "Decision") return undefined
  let decision: unknown
  try {
    decision = JSON.parse(record.value)
  } catch {
    return undefined // an older version can look at what a newer one wrote
  }
  if (!Predicate.isTagged(decision, "Retry")) return undefined
  const retryAt = numberAt(decision, "retryAt")
  const delayMs = numberAt(decision, "delayMs") ?? 0
  const to: unknown = Predicate.hasProperty(decision, "route") ? decision.route : undefined
  // As `Directive.isImmediate`, of what is not decoded.
  if (retryAt === undefined || (to !== undefined && delayMs <= 0)) return undefined
  const route = to === undefined ? undefined : Option.getOrUndefined(decodeRoute(to))
  const basis: unknown = Predicate.hasProperty(decision, "basis") ? decision.basis : undefined
  const hintMs = numberAt(basis, "hintMs")
  const isApart = Predicate.hasProperty(basis, "ofEndpoint") && basis.ofEndpoint === false
  return {
    retryAt,
    delayMs,
    ...(route === undefined ? undefined : { route }),
    ...(hintMs === undefined ? undefined : { hintMs }),
    ...(isApart ? { ofEndpoint: false } : undefined)
  }
}

const numberAt = (value: unknown, key: string): number | undefined => {
  const found = Predicate.hasProperty(value, key) ? value[key] : undefined
  return typeof found === "number" ? found : undefined
}

const decodeRoute = Schema.decodeUnknownOption(Route.Route)
