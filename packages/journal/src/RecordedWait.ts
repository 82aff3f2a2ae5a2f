/**
 * Reads the wait that a parked turn is in from its journal, without running the turn.
 *
 * It reads only the end of a journal, so it costs the same for a turn with a long past.
 */
import { Directive, Records, RetryStrategy, Route } from "@holdfast/kernel"
import { ToolQuestion } from "@holdfast/kernel/host"
import { defined, type Failure, type Ids, Target, type TurnEvent } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Journal } from "./Journal.ts"
import type { StorageError } from "./StorageError.ts"

/** The wait of a parked turn. */
export interface RecordedWait {
  /** The retry that follows the wait, 0-based. */
  readonly attempt: number
  /** The length of the wait, in milliseconds. */
  readonly delayMs: number
  /** The end of the wait, in epoch milliseconds; with `asks`, the time limit of the answer. */
  readonly retryAt: number
  /** The question, where the turn waits for a person (rule X11), or for approval of tool calls. */
  readonly asks: TurnEvent.Asks | undefined
  /** The failure that the wait follows; a question about tool calls stands for it. */
  readonly failure: Failure.Failure
  /** The `provider/model` that failed, where a command (rule X4) or a router has sent the turn there. */
  readonly target: string | undefined
  /** The credential of the retry, where one was chosen. */
  readonly credential?: string
}

/** The wait that has begun and not ended; `undefined` for a turn that is in no wait. */
export const of = (records: ReadonlyArray<Records.Stored>): RecordedWait | undefined => {
  const question = questionOf(records)
  if (question !== undefined) return question
  const at = records.findLastIndex((record) => Records.positionOf(record.name)?.kind === "Decision")
  const decision = records[at] && Records.parse(records[at])
  if (decision?.kind !== "Decision" || decision.value._tag !== "Retry") return undefined

  const directive = decision.value
  if (Directive.isImmediate(directive)) return undefined
  let { retryAt, delayMs } = directive
  let asks: TurnEvent.Asks | undefined
  const begunAt = RetryStrategy.sinceOf(directive)
  delayMs = retryAt - begunAt
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
    ...defined({ credential })
  }
}

/** A wait as its decision states it. */
interface Decided {
  /** The absolute end, in epoch milliseconds. */
  readonly retryAt: number
  readonly delayMs: number
  /** When it began, in epoch milliseconds; absent: `delayMs` before its end. */
  readonly since?: number
  /** The route of the retry, where the decision names one. */
  readonly route?: Route.Route
  /** The provider's hint, where it counted, in milliseconds. */
  readonly hintMs?: number
  /** The failure is no evidence about the endpoint; absent: it is, or that was not recorded. */
  readonly ofEndpoint?: false
  /** The policy refuses a further retry after this one; absent: it does not, or that was not recorded. */
  readonly isLast?: true
  /** What its gate keeps of the turn; absent: nothing. */
  readonly past?: GatePast
}

/** What a gate keeps of a turn: how many of its refusals were its own, and the earliest early wake, in epoch milliseconds. */
export interface GatePast {
  readonly odd: number
  readonly restsUntil: number
}

/** The facts of a wait that a host needs when it takes the turn up. */
export interface CurrentWait extends Decided {
  /** Its end has changed since it began: a command moved it, or a person was asked. */
  readonly isMoved: boolean
  /** It waits for answers about tool calls, and for no endpoint. */
  readonly isOfTools?: true
}

/**
 * Returns when a wait that is taken up at `now` is over, in epoch milliseconds: no later than its length from now, as the clock may have been set
 * back since it began. A moment that a person chose stays.
 */
export const wakeAt = ({ delayMs, isMoved, retryAt, since = retryAt - delayMs }: CurrentWait, now: number): number =>
  isMoved ? retryAt : Math.min(retryAt, now + (retryAt - since))

/**
 * The wait that a turn is in according to its last record; `undefined` without a wait. Earlier records are loaded only for a wait that
 * was moved.
 *
 * @param tail the newest record; `undefined` before the first
 */
export const currentBy = (
  journal: Pick<Journal["Service"], "load">,
  { tail, turnId }: { readonly turnId: Ids.TurnId; readonly tail: Records.Stored | undefined }
): Effect.Effect<CurrentWait | undefined, StorageError> => {
  const known = tail && currentByTail(tail)
  if (known === "Moved") return Effect.map(journal.load(turnId), movedOf)
  return Effect.succeed(known && { ...known, isMoved: false })
}

// --- internal

/** The wait that a last record begins; `Moved`: its end depends on earlier records (`of`). */
const currentByTail = (tail: Records.Stored): Decided | "Moved" | undefined => {
  switch (Records.positionOf(tail.name)?.kind) {
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

const movedOf = (records: ReadonlyArray<Records.Stored>): CurrentWait | undefined => {
  const wait = of(records)
  if (wait === undefined) return undefined
  const { delayMs, retryAt } = wait
  if (wait.asks?.because === "tools") return { delayMs, retryAt, isMoved: true, isOfTools: true }
  const target = wait.target === undefined ? undefined : Target.parse(wait.target)
  return { delayMs, retryAt, isMoved: true, ...defined({ route: target && { target } }) }
}

/** The open question about tool calls: its records are the last ones, and no decision has led to them. */
const questionOf = (records: ReadonlyArray<Records.Stored>): RecordedWait | undefined => {
  const tail = records.at(-1)
  const place = tail && Records.positionOf(tail.name)
  if (place?.kind !== "Wake") return undefined
  const isOf = (kind: Records.Kind) => (record: Records.Stored) => {
    const position = Records.positionOf(record.name)
    return position?.kind === kind && position.step === place.step && position.number === place.number
  }
  if (records.some(isOf("Decision"))) return undefined
  const wakes = records.filter(isOf("Wake")).flatMap((record) => Records.valueOf("Wake", record) ?? [])
  const open = ToolQuestion.openIn(wakes)
  if (open === undefined) return undefined
  const { asks, since, until } = open
  const delayMs = Math.max(0, until - since)
  return { attempt: 0, delayMs, retryAt: until, asks, failure: ToolQuestion.failureOf(asks), target: targetOf(records) }
}

/** Whether a name belongs to the call that a decision is about. */
const isCall = ({ name }: Records.Stored, { number, step }: Records.RecordPosition): boolean => {
  const position = Records.positionOf(name)
  return position !== undefined && CALLS.has(position.kind) && position.step === step && position.number === number
}

const CALLS = new Set<Records.Kind>(["Attempt", "Compaction"])

const targetOf = (records: ReadonlyArray<Records.Stored>): string | undefined => {
  const target = records
    .filter((record) => DIRECTING.has(Records.positionOf(record.name)?.kind))
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
 * The wait that a decision begins; `undefined` without one.
 *
 * A start calls this for every waiting turn. It reads a few keys of the JSON and skips the rest of the decision, which is ten times as
 * fast as decoding it.
 */
const decidedBy = (record: Records.Stored): Decided | undefined => {
  if (Records.positionOf(record.name)?.kind !== "Decision") return undefined
  let decision: unknown
  try {
    decision = JSON.parse(record.value)
  } catch {
    return undefined // an older version reads what a newer one wrote
  }
  if (!Predicate.isTagged(decision, "Retry")) return undefined
  const retryAt = numberAt(decision, "retryAt")
  const delayMs = numberAt(decision, "delayMs") ?? 0
  const to: unknown = Predicate.hasProperty(decision, "route") ? decision.route : undefined
  // As `Directive.isImmediate`, on a value that is not decoded.
  if (retryAt === undefined || (to !== undefined && delayMs <= 0)) return undefined
  const route = to === undefined ? undefined : Option.getOrUndefined(decodeRoute(to))
  const basis: unknown = Predicate.hasProperty(decision, "basis") ? decision.basis : undefined
  const since = numberAt(decision, "since")
  const hintMs = numberAt(basis, "hintMs")
  const isApart = Predicate.hasProperty(basis, "ofEndpoint") && basis.ofEndpoint === false
  return {
    retryAt,
    delayMs,
    ...defined({ route, since, hintMs, past: pastOf(basis) }),
    ...(isLast(basis) ? { isLast: true } : undefined),
    ...(isApart ? { ofEndpoint: false } : undefined)
  }
}

/** Whether the policy refuses a further retry after a retry with this basis. */
export const isLast = (basis: unknown): boolean => Predicate.hasProperty(basis, "isLast") && basis.isLast === true

/** What the gate of a wait with this basis keeps of the turn. */
export const pastOf = (basis: unknown): GatePast | undefined => {
  const past = Predicate.hasProperty(basis, "past") ? basis.past : undefined
  const [odd, restsUntil] = [numberAt(past, "odd"), numberAt(past, "restsUntil")]
  return odd === undefined || restsUntil === undefined ? undefined : { odd, restsUntil }
}

const numberAt = (value: unknown, key: string): number | undefined => {
  const found = Predicate.hasProperty(value, key) ? value[key] : undefined
  return typeof found === "number" ? found : undefined
}

const decodeRoute = Schema.decodeUnknownOption(Route.Route)
