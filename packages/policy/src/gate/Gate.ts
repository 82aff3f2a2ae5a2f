/**
 * Decides which waiting turns may call one endpoint, and when (X5). Pure.
 *
 * A gate is a plain value per endpoint and credential, and this file has its transitions. Its owner (`Sleepers`) reports every call to it and
 * asks it before a retry; it never sleeps and never calls. It takes an endpoint for down after as many refusals in a row as are improbable by
 * the endpoint's own record, so a provider that answers one call in ten is not taken for a provider that is down.
 *
 * The findings of a crowd that left a failing endpoint are forgotten `FORGET_MS` after its last turn, others after `BETWEEN_MS`.
 *
 * Gate.G1. First attempts are never held: the gate is for turns that have failed and wait.
 * Gate.G2. A turn is woken early only into free room or as a probe, and only for credit: a call that was saved, or a share of the answers.
 *
 * Read: RFC 5681 (slow start); Netflix's concurrency-limits; decision 10 for the simulation that chose the parameters.
 */
import type { Failure } from "@holdfast/wire"
import * as Data from "effect/Data"

/** The gate of one endpoint and credential. Times are epoch milliseconds; `-Infinity`: never. */
export interface Gate {
  /** Refusals since the last answer, weighted: those above the proven load and those of a turn that is refused by itself count less. */
  readonly n: number
  /** Answers and refusals while it answered; older ones count less. */
  readonly ok: number
  readonly bad: number
  /** The same of calls within the load that was proven. */
  readonly inOk: number
  readonly inBad: number
  /** The share of answers in about the last thirty calls. */
  readonly share: number
  /** Calls under way, and how many of them have shown content. */
  readonly under: number
  readonly answering: number
  /** Calls that may be under way at once while it comes back, and its growth: slow start up to `threshold`, then one per round of answers. */
  readonly room: number
  readonly isSlowStart: boolean
  readonly threshold: number
  readonly raiseIn: number
  readonly patience: number
  /** The most calls answering at once, and the highest load at which a call was answered. */
  readonly proven: number
  readonly reach: number
  /** It came back after it was off; a call above the proven load was refused since. */
  readonly isRamp: boolean
  readonly isLoaded: boolean
  /** Early wakes that may be made (Gate.G2), and the part of a probe that due turns are owed. */
  readonly credit: number
  readonly owed: number
  /** When a call was last refused, and with what. */
  readonly refusedAt: number
  readonly failure: Failure.Failure | undefined
  readonly answeredAt: number
  readonly triedAt: number
  /** When the latest of the answered calls began: a refusal of an earlier call is no news. */
  readonly okBegan: number
  /** No early wake before it: a provider's hint, until a later call is answered (P5). */
  readonly floor: number
  /** Probes refused since it stopped answering; infinite: it never answered. */
  readonly probes: number
  /** It answered another process since it last refused a call here: one try at once, also if it does not count as down here. */
  readonly isToTry: boolean
  /** Since when no turn waits or calls; `Infinity`: one does, or none has yet. */
  readonly leftAt: number
}

/** The gate of an endpoint without a known failure. */
export const open: Gate = {
  n: 0,
  ok: 0,
  bad: 0,
  inOk: 0,
  inBad: 0,
  share: 1,
  under: 0,
  answering: 0,
  room: 1,
  isSlowStart: true,
  threshold: Infinity,
  raiseIn: 0,
  patience: 1,
  proven: 0,
  reach: 0,
  isRamp: false,
  isLoaded: false,
  credit: 2,
  owed: 0,
  refusedAt: -Infinity,
  failure: undefined,
  answeredAt: -Infinity,
  triedAt: -Infinity,
  okBegan: -Infinity,
  floor: -Infinity,
  probes: Infinity,
  isToTry: false,
  leftAt: Infinity
}

/** A call as its gate counts it. */
export interface Call {
  readonly at: number
  /** Calls that were under way when it began. */
  readonly load: number
  /** That was within the load that was proven. */
  readonly isInside: boolean
  /** Its turn was woken early: it costs credit, and not the turn's schedule. */
  readonly isGift: boolean
}

/** A turn at a gate, as far as the gate's decision depends on it. */
export interface Asking {
  /** The end of its wait by its schedule. */
  readonly dueAt: number
  readonly waitMs: number
  /** It would go on after one more failure. */
  readonly mayShare: boolean
}

/** The answer to a turn whose wait is over. */
export type CallDecision = Data.TaggedEnum<{
  /** The turn may call. */
  Go: {}
  /** Ask again when the gate has changed, or at `againAt`. */
  Hold: {}
  /** The turn shares this failure of another turn's recent call. */
  Share: { readonly failure: Failure.Failure }
}>
export const CallDecision = Data.taggedEnum<CallDecision>()

/** As many refusals in a row mean off as happen by chance once in twenty (e^-3); within these bounds. */
const SURE_EXPONENT = 3
/** The fewest that mean off, at an endpoint that answered everything. */
export const SURE_LEAST = 3
/** The most. Higher: an endpoint that answers 2 % is never taken for off; lower: fewer calls are wasted in outages. */
export const SURE_MOST = 200

/** An endpoint without a record counts as answering one call in ten, by the weight of two calls. */
const PRIOR = 0.1
const PRIOR_CALLS = 2

/** What counts of a call after one more, in the record and in that of the proven load. */
const MEMORY = 0.95
const MEMORY_INSIDE = 0.98
/** The calls over which the share of answers is taken. */
const SHARE_CALLS = 30

/** The weight of a refusal above the load that was proven: it may be the load. */
const OUTSIDE = 0.1

/** An endpoint that answered within it is dim, not dark: due turns are held and keep their schedules, and share nothing. */
export const RECENT_MS = 120_000

/** After this many refusals in a row a first attempt may share the last of them. */
export const FIRST_CERTAIN = 10
/** The largest age of that refusal: a new prompt must not fail because of old findings. */
export const FIRST_MS = 2_000

/** The age of a shared failure: a tenth of the turn's own wait, within these bounds. */
const FRESH_SHARE = 0.1
const FRESH_LEAST_MS = 2_000
const FRESH_MOST_MS = 60_000

/** Ten answers pay for one early wake. */
const ANSWER_CREDIT = 0.1
/** An answered early wake pays for the calls that its turn would have made itself, and for no more than this. */
export const REFUND_MOST = 3

/** Below this share of answers within the proven load refusals are chance, not load. */
const LOSSLESS = 0.8

/** What a refusal above the proven load takes from `reach`, of what is above it. */
const REACH_DECAY = 0.02

/** The shortest time between two probes, and the next ones after it stopped answering: 5 s, 15 s, 45 s … */
export const PROBE_MIN_MS = 5_000
/** So many probes are made in that order. */
export const EAGER_PROBES = 5
const EAGER_FACTOR = 3
/** Probes in the dark cost `PROBE_SHARE / N ** PROBE_POWER` of the calls that the schedules of N turns would make. */
const PROBE_SHARE = 1.3
const PROBE_POWER = 0.6
const PROBE_MOST = 0.5

/** A hold ends after this time without any answer. */
export const HOLD_LIMIT_MS = 600_000

/** A call without an outcome for this time shows nothing more, and holds no place. */
export const LATE_MS = 10_000

/** Places that an answer opens when the endpoint comes back; each further answer opens `GROWTH` in slow start. */
const FIRST_ROOM = 4
const GROWTH = 2
/** The room is never further ahead of what answers. */
const AHEAD = 3

/** The longest time between two tries for more room, in rounds of answers. */
const MAX_PATIENCE = 4

/** By then the last of the eager probes would have been made. */
export const FORGET_MS = 1_200_000
/** A turn is neither calling nor waiting while its failure is written. */
export const BETWEEN_MS = 10_000

/** Whether a failure concerns the endpoint, and not a single request, its key, or this program. */
export const concerns = ({ defect, reason, retryable }: Failure.Failure): boolean =>
  defect !== true && retryable && ENDPOINTS.has(reason)

/** How many refusals in a row mean that the endpoint is off. */
export const sure = (gate: Gate): number =>
  Math.min(SURE_MOST, Math.max(SURE_LEAST, -SURE_EXPONENT / Math.log(1 - Math.min(0.999, answersOf(gate)))))

/** Whether the endpoint counts as down. */
export const isOff = (gate: Gate): boolean => gate.n >= sure(gate)

/** The gate in one word. `open`: due turns call at their times. `shut`: the endpoint is down. `ramp`: it is coming back. */
export const phaseOf = (gate: Gate): "open" | "shut" | "ramp" => {
  if (isOff(gate)) return "shut"
  return gate.isRamp && !isLossy(gate) ? "ramp" : "open"
}

/** The calls that may be under way when a due turn calls. */
export const roomOf = (gate: Gate): number => {
  if (gate.answeredAt === -Infinity) return Infinity
  const isTight = gate.isRamp && !isLossy(gate)
  return Math.max(Math.floor(gate.room), isTight ? 0 : Math.floor(gate.reach) + 1)
}

/** A turn begins to wait, or a call comes. */
export const entered = (gate: Gate, now: number): Gate => {
  if (gate.leftAt === Infinity) return gate
  return isForgotten(gate, now) ? open : { ...gate, leftAt: Infinity }
}

/** Whether nothing that is known of the endpoint counts any more. */
export const isForgotten = (gate: Gate, now: number): boolean =>
  gate.leftAt !== Infinity && now - gate.leftAt >= (isOff(gate) ? FORGET_MS : BETWEEN_MS)

/** No turn waits any more. */
export const settled = (gate: Gate, now: number): Gate =>
  gate.under > 0 || gate.leftAt !== Infinity || gate === open ? gate : { ...gate, leftAt: now }

/**
 * A turn waits for a failure of the endpoint since before a restart, and this process knows of none. Otherwise turns that waited across a
 * restart would have no probe, and would not be woken early.
 */
export const remembered = (gate: Gate, since: number): Gate =>
  isKnown(gate) || gate.answeredAt !== -Infinity
    ? gate
    : { ...gate, n: sure(gate), triedAt: Math.max(gate.triedAt, since) }

/** Answers a first attempt that asks to call; Gate.G1. */
export const askFirst = (before: Gate, now: number): readonly [CallDecision, Gate] => {
  const { failure } = before
  if (failure === undefined || before.n < FIRST_CERTAIN || now - before.refusedAt > FIRST_MS || !isOff(before))
    return [GO, before]
  const [isDrawn, gate] = draw(before)
  return isDrawn ? [GO, gate] : share(gate, failure)
}

/**
 * Answers a turn whose time has come.
 *
 * @param load the calls under way, without those that are late (`LATE_MS`)
 * @param isFirst the turn asks for the first time since the endpoint is off
 */
export const ask = (
  before: Gate,
  now: number,
  turn: Asking,
  load: number,
  isFirst: boolean
): readonly [CallDecision, Gate] => {
  if (!isKnown(before)) return [GO, before]
  if (!isOff(before)) return [load < roomOf(before) || now >= holdEnd(before, turn) ? GO : HOLD, before]
  let gate = before
  if (isFirst) {
    const [isDrawn, drawn] = draw(before)
    if (isDrawn) return [GO, drawn]
    gate = drawn
  }
  if (now >= holdEnd(gate, turn)) return [GO, gate]
  const tries = gate.under - gate.answering
  if (tries > 0 && now - gate.triedAt < PROBE_MIN_MS) {
    // While it is dim, a try is as many calls of one moment as have one answer by its record: one call would be refused by chance.
    const isTry = now === gate.triedAt && isRecent(gate, now) && tries < Math.round(1 / answersOf(gate))
    return [isTry ? GO : HOLD, gate]
  }
  if (isRecent(gate, now)) return [now >= probeAt(gate, now, 1, turn.waitMs) ? GO : HOLD, gate]
  const { failure } = gate
  const isFresh = now - gate.refusedAt <= Math.min(FRESH_MOST_MS, Math.max(FRESH_LEAST_MS, turn.waitMs * FRESH_SHARE))
  // A failure from before the wait is the turn's own, or it has shared it.
  const isNews = gate.refusedAt > turn.dueAt - turn.waitMs
  return isFresh && isNews && failure !== undefined && turn.mayShare ? share(gate, failure) : [GO, gate]
}

/** When a held turn asks again at the latest, if the gate does not change before. `lateAt`: when the next call under way is late. */
export const askAgainAt = (gate: Gate, now: number, turn: Asking, lateAt: number): number => {
  const end = holdEnd(gate, turn)
  if (!isOff(gate)) return Math.min(end, lateAt)
  const dark = isRecent(gate, now) ? gate.answeredAt + RECENT_MS + 1 : Infinity
  const tried = gate.under > gate.answering ? gate.triedAt + PROBE_MIN_MS : Infinity
  const probe = tried > now && tried !== Infinity ? tried : probeAt(gate, now, 1, turn.waitMs)
  return Math.min(end, dark, probe)
}

/**
 * Whether a waiting turn may be called early now (Gate.G2), and when to ask again at the latest; infinity: at the next change. Asked only while no
 * turn is held.
 */
export const gift = (
  gate: Gate,
  now: number,
  { count, meanWaitMs }: { readonly count: number; readonly meanWaitMs: number }
): { readonly isFree: boolean; readonly againAt: number } => {
  if (count === 0 || gate.credit < 1 || !isKnown(gate)) return NO_GIFT
  const at = isOff(gate) ? probeAt(gate, now, count, meanWaitMs) : gate.floor
  if (at > now) return { isFree: false, againAt: at }
  const isFree = isProbing(gate) || (gate.under < Math.floor(gate.room) && gate.answeredAt !== -Infinity)
  return isFree ? GIFT : NO_GIFT
}

/** Whether an early wake would be a try: the endpoint counts as down, or has answered another process alone. */
export const isProbing = (gate: Gate): boolean => isOff(gate) || gate.isToTry

/** A call begins, or is admitted. */
export const begin = (before: Gate, now: number, isGift: boolean): readonly [Call, Gate] => {
  const { credit, proven, under } = before
  const call = { at: now, load: under, isInside: under < Math.max(1, proven), isGift }
  return [call, { ...before, under: under + 1, triedAt: now, isToTry: false, credit: isGift ? credit - 1 : credit }]
}

/** An admitted call is not made. */
export const unused = (gate: Gate, { isGift }: Call): Gate => ({
  ...gate,
  under: Math.max(0, gate.under - 1),
  credit: isGift ? gate.credit + 1 : gate.credit
})

/** A call has shown its first content. */
export const answered = (before: Gate, now: number, call: Call): Gate => {
  const wasOff = isOff(before)
  const gate: Mutable<Gate> = { ...before }
  if (wasOff && !isRecent(before, now)) gate.inOk = gate.inBad = 0
  gate.answering++
  record(gate, 1, Math.min(gate.n, sure(before)))
  gate.okBegan = Math.max(gate.okBegan, call.at)
  gate.n = 0
  gate.owed = 0
  gate.answeredAt = now
  if (call.at >= gate.refusedAt) gate.floor = -Infinity
  if (wasOff) {
    gate.isRamp = true
    gate.isLoaded = false
    gate.isSlowStart = true
    gate.room = gate.under - 1 + Math.min(FIRST_ROOM, gate.threshold)
    gate.proven = 0
    gate.raiseIn = 0
    gate.patience = 1
  }
  // More answer than ever did: others may have left, and the room grows by each answer until one is refused.
  if (!wasOff && gate.answering > gate.proven && call.load > gate.reach) gate.patience = gate.raiseIn = 1
  gate.proven = Math.max(gate.proven, gate.answering)
  gate.reach = Math.max(gate.reach, call.load)
  gate.share += (1 - gate.share) / SHARE_CALLS
  if (wasOff || call.isInside) recordInside(gate, true)
  gate.credit += call.isGift ? Math.min(REFUND_MOST, 1 / gate.share) : ANSWER_CREDIT
  if (gate.isSlowStart || isLossy(gate)) {
    gate.room += gate.isSlowStart ? GROWTH : 1
    if (gate.room > gate.threshold) {
      gate.isSlowStart = false
      gate.raiseIn = gate.room * gate.patience
    }
  } else if (--gate.raiseIn <= 0) {
    gate.room++
    gate.raiseIn = gate.room * gate.patience
  }
  gate.room = Math.min(gate.room, Math.max(2 * FIRST_ROOM, AHEAD * gate.proven))
  return gate
}

/** How much more of a turn's refusals are its own, by one more: others were answered since its last. */
export const oddness = ({ answeredAt, share }: Gate, refusedBefore: number): number =>
  answeredAt > refusedBefore ? share : 0

/** A call has failed before its first content, because of the endpoint. `odd`: how much of its turn's refusals are its own. */
export const refused = (before: Gate, now: number, call: Call, odd: number, failure: Failure.Failure): Gate => {
  const wasOff = isOff(before)
  const isNews = call.at >= before.refusedAt
  const gate: Mutable<Gate> = { ...before, failure, refusedAt: now }
  gate.under = Math.max(0, gate.under - 1)
  const weight = (call.isInside || gate.answering === 0 ? 1 : OUTSIDE) / (1 + odd)
  if (call.at < gate.okBegan) record(gate, 0, weight)
  else gate.n += weight
  const isOffNow = isOff(gate)
  if (failure.hint !== undefined) gate.floor = Math.max(gate.floor, now + failure.hint.retryAfterMs)
  gate.share -= gate.share / SHARE_CALLS
  if (call.isInside) {
    if (!isOffNow) recordInside(gate, false)
    gate.proven = Math.max(gate.answering, gate.proven - (gate.proven - gate.answering) / 8)
  } else gate.reach -= Math.max(0, gate.reach - gate.proven) * REACH_DECAY
  if (isOffNow) stopped(gate, wasOff)
  else if (call.isInside && isLossy(gate)) {
    // The room shrinks by what chance takes on average, so that it grows on.
    const loss = (0.5 * gate.share) / Math.max(0.05, 1 - gate.share)
    gate.room = Math.max(1, gate.answering + 1, gate.room - loss)
  } else if (!call.isInside && gate.answering > 0) {
    gate.isLoaded = true
    if (isNews && gate.answering >= gate.proven) gate.patience = Math.min(MAX_PATIENCE, gate.patience * 2)
    gate.room = Math.max(1, gate.answering, Math.min(gate.room, call.load))
    gate.isSlowStart = false
    gate.raiseIn = gate.room * gate.patience
  }
  return gate
}

/** A call has ended without a failure of the endpoint before its content. */
export const ended = (before: Gate, hadAnswered: boolean): Gate => {
  const gate: Mutable<Gate> = { ...before, under: Math.max(0, before.under - 1) }
  if (!hadAnswered) return gate
  gate.answering = Math.max(0, gate.answering - 1)
  if (gate.answering < gate.proven && isOff(gate)) gate.triedAt = -Infinity // a place is free: one try
  return gate
}

/** Another process has found that the endpoint fails: its certainty counts here. */
export const failedElsewhere = (before: Gate, n: number, failure: Failure.Failure, at: number): Gate => {
  const gate: Mutable<Gate> = { ...before, n, refusedAt: at, failure, isToTry: false }
  if (isOff(gate) && !isOff(before)) stopped(gate, false)
  return gate
}

// --- internal

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

const GO: CallDecision = CallDecision.Go()
const HOLD: CallDecision = CallDecision.Hold()
const NO_GIFT = { isFree: false, againAt: Infinity }
const GIFT = { isFree: true, againAt: Infinity }

/**
 * The reasons that concern the endpoint. M3: an abort that the user did not request counts as a network fault. `unknown` is not among them:
 * it may concern a single request, and quote it.
 */
export const ENDPOINTS: ReadonlySet<Failure.Reason> = new Set<Failure.Reason>([
  "rate-limited",
  "quota-exhausted",
  "overloaded",
  "server-error",
  "network",
  "timeout",
  "aborted"
])

/** Whether a failure of the endpoint is known, or was known to a turn that waits (`remembered`). */
const isKnown = ({ isRamp, n, refusedAt }: Gate): boolean => n > 0 || isRamp || refusedAt !== -Infinity

/** The share of calls that it answers by its record, while it answers. */
const answersOf = ({ bad, ok }: Gate): number => (ok + PRIOR * PRIOR_CALLS) / (ok + bad + PRIOR_CALLS)

const isRecent = ({ answeredAt }: Gate, now: number): boolean => now - answeredAt <= RECENT_MS

/** Whether it refuses calls within the load that it carries: then load does not explain its refusals. */
const isLossy = ({ inBad, inOk }: Gate): boolean => inBad >= 2 && inOk / (inOk + inBad) < LOSSLESS

const holdEnd = ({ answeredAt }: Gate, { dueAt }: Asking): number => Math.max(dueAt, answeredAt) + HOLD_LIMIT_MS

/** Lets one of so many due turns call, the fewer the more certain it is that the endpoint is off. */
const draw = (gate: Gate): readonly [boolean, Gate] => {
  const certain = sure(gate)
  const refusals = gate.n + gate.under - gate.answering
  const owed = gate.owed + (refusals < certain ? 1 : (certain / refusals) ** 2)
  return [owed >= 1, { ...gate, owed: owed >= 1 ? owed - 1 : owed }]
}

const share = (gate: Gate, failure: Failure.Failure): readonly [CallDecision, Gate] => [
  CallDecision.Share({ failure }),
  { ...gate, credit: gate.credit + 1 }
]

/** When `count` waiting turns make the next probe. */
const probeAt = (gate: Gate, now: number, count: number, meanWaitMs: number): number => {
  if (gate.isToTry) return Math.max(gate.floor, gate.refusedAt + PROBE_MIN_MS)
  const byShare = meanWaitMs / (count * Math.min(PROBE_MOST, PROBE_SHARE / count ** PROBE_POWER))
  const eagerly = isRecent(gate, now)
    ? PROBE_MIN_MS
    : gate.probes < EAGER_PROBES
      ? PROBE_MIN_MS * EAGER_FACTOR ** gate.probes
      : Infinity
  const after = Math.max(PROBE_MIN_MS, Math.min(byShare, eagerly))
  return Math.max(gate.floor, Math.max(gate.triedAt, gate.refusedAt) + after)
}

const record = (gate: Mutable<Gate>, ok: number, bad: number): void => {
  const kept = MEMORY ** (ok + bad)
  gate.ok = gate.ok * kept + ok
  gate.bad = gate.bad * kept + bad
}

const recordInside = (gate: Mutable<Gate>, isOk: boolean): void => {
  gate.inOk = gate.inOk * MEMORY_INSIDE + (isOk ? 1 : 0)
  gate.inBad = gate.inBad * MEMORY_INSIDE + (isOk ? 0 : 1)
}

/** It is off, as of now or as before. */
const stopped = (gate: Mutable<Gate>, wasOff: boolean): void => {
  if (wasOff) {
    gate.probes++
    return
  }
  const isLossless = answersOf(gate) >= LOSSLESS
  gate.probes = gate.answeredAt === -Infinity ? Infinity : 0
  gate.threshold = !isLossless ? Infinity : gate.isLoaded ? Math.max(1, gate.proven) : gate.threshold
  gate.room = 1
}
