/**
 * Reads the wait that a parked turn is in from its journal, without running the turn.
 *
 * For a wait that nothing has moved the newest record is enough, so a start costs the same for turns with a long past.
 */
import { Records, RetryStrategy, type Route } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { defined, type Ids, Target } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { Journal } from "./Journal.ts"
import type { StorageError } from "./StorageError.ts"

/** What a gate keeps of a turn: how many of its refusals were its own, and the earliest early wake, in epoch milliseconds. */
export interface GatePast {
  readonly odd: number
  readonly restsUntil: number
}

/** The facts of a wait that a host needs when it takes the turn up. Times are in epoch milliseconds. */
export interface CurrentWait extends Pick<History.Wait, "retryAt" | "since" | "isMoved"> {
  /** The delay of its schedule, in milliseconds. */
  readonly delayMs: number
  /** The route of the retry, where the records name one. */
  readonly route?: Route.Route
  /** The provider's hint, where it counted, in milliseconds. */
  readonly hintMs?: number
  /** The failure is no evidence about the endpoint; absent: it is, or that was not recorded. */
  readonly ofEndpoint?: false
  /** The policy refuses a further retry after this one; absent: it does not, or that was not recorded. */
  readonly isLast?: true
  /** What its gate keeps of the turn; absent: nothing. */
  readonly past?: GatePast
  /** It waits for answers about tool calls, and for no endpoint. */
  readonly isOfTools?: true
}

/**
 * Returns when a wait that is taken up at `now` is over, in epoch milliseconds: no later than its length from now, as the clock may have been set
 * back since it began. A moment that a person chose stays.
 */
export const wakeAt = ({ isMoved, retryAt, since }: CurrentWait, now: number): number =>
  isMoved ? retryAt : Math.min(retryAt, now + (retryAt - since))

/**
 * The wait that a turn is in according to its last record; `undefined` without a wait. Earlier records are loaded only for a wait with a
 * command.
 *
 * @param tail the newest record; `undefined` before the first
 */
export const currentBy = (
  journal: Pick<Journal["Service"], "load">,
  { tail, turnId }: { readonly turnId: Ids.TurnId; readonly tail: Records.Stored | undefined }
): Effect.Effect<CurrentWait | undefined, StorageError> => {
  const record = tail && LAST.has(Records.positionOf(tail.name)?.kind) ? Records.parse(tail) : undefined
  if (record?.kind === "Wake" && !RetryStrategy.endsWait(record.value))
    return Effect.map(journal.load(turnId), currentOf)
  return Effect.succeed(tail && record?.kind === "Decision" ? currentOf([tail]) : undefined)
}

/** The ids of the commands in some records, so that the same command again does nothing (rule X4). */
export const commandIdsOf = (known: ReadonlyArray<Records.Stored>): ReadonlyArray<string> =>
  known.flatMap((record) => Records.valueOf("Wake", record)?.by?.commandId ?? [])

/** Whether the policy refuses a further retry after a retry with this basis. */
export const isLast = (basis: unknown): boolean => Predicate.hasProperty(basis, "isLast") && basis.isLast === true

/** What the gate of a wait with this basis keeps of the turn. */
export const pastOf = (basis: unknown): GatePast | undefined => {
  const past = Predicate.hasProperty(basis, "past") ? basis.past : undefined
  const [odd, restsUntil] = [numberAt(past, "odd"), numberAt(past, "restsUntil")]
  return odd === undefined || restsUntil === undefined ? undefined : { odd, restsUntil }
}

// --- internal

/** Kinds of records that the journal of a turn in a wait ends with. */
const LAST = new Set<Records.Kind | undefined>(["Decision", "Wake"])

const currentOf = (records: ReadonlyArray<Records.Stored>): CurrentWait | undefined => {
  const { wait } = History.of(records)
  if (wait === undefined) return undefined
  const { decision, isMoved, retryAt, since } = wait
  if (decision === undefined) return { delayMs: retryAt - since, retryAt, since, isMoved, isOfTools: true }
  const { basis, delayMs } = decision
  const target = wait.target === undefined ? undefined : Target.parse(wait.target)
  return {
    delayMs,
    retryAt,
    since,
    isMoved,
    ...defined({
      route: decision.route ?? (target && { target }),
      hintMs: numberAt(basis, "hintMs"),
      past: pastOf(basis)
    }),
    ...(isLast(basis) ? { isLast: true } : undefined),
    ...(Predicate.hasProperty(basis, "ofEndpoint") && basis.ofEndpoint === false ? { ofEndpoint: false } : undefined)
  }
}

const numberAt = (value: unknown, key: string): number | undefined => {
  const found = Predicate.hasProperty(value, key) ? value[key] : undefined
  return typeof found === "number" ? found : undefined
}
