/**
 * Decides which waiting turns may call one endpoint, and when (X5). Pure.
 *
 * A gate is a plain value per endpoint and credential, and this file has its transitions. Its owner reports every call to it and asks it
 * before a retry; it never sleeps and never calls.
 *
 * Gate.G1. First attempts are never held: the gate is for turns that have failed and wait. After `CERTAIN` refused calls in a row, the last
 *     of them at most `CERTAIN_MS` ago, a first attempt shares that failure too.
 * Gate.G2. While the endpoint fails, one retry at a time is under way: the probe. A turn whose wait ends meanwhile is held until the probe
 *     has shown content or failed. It shares the probe's failure: it continues its schedule without its own call.
 * Gate.G3. Once a retry has shown content the room grows by one with every answer, so it doubles with every round, until a call is refused.
 *     Then the room is the number of answering calls, and from time to time one more is tried.
 * Gate.G4. A turn is woken early only into free room, or as a probe; and probes cost no more than `PROBE_SHARE` of the calls that the
 *     waiting turns would have made by their schedules. So a turn that waits alone keeps its schedule.
 * Gate.G5. The findings of a crowd are forgotten `FORGET_MS` after its last turn has left, and not before: a turn that waits repeatedly
 *     leaves in between only for the time of its calls.
 *
 * Read: RFC 5681 (slow start); Netflix's concurrency-limits; the half-open state of circuit breakers.
 */
import type { Failure } from "@holdfast/wire"
import * as Data from "effect/Data"

/** The gate of one endpoint and credential. */
export interface Gate {
  /** `open`: no failure of the endpoint is known. `shut`: it fails. `ramp`: it answers again, and not all turns have been admitted yet. */
  readonly phase: "open" | "shut" | "ramp"
  /** Retries that were admitted and have not ended. */
  readonly underway: number
  /** The admitted retries that have shown content. */
  readonly answering: number
  /** The number of retries that may be under way at once. */
  readonly room: number
  /** The last failure, and its time in epoch milliseconds; absent: the endpoint never failed. */
  readonly last: { readonly failure: Failure.Failure; readonly at: number } | undefined
  /** When a turn was last woken as a probe, or a call was last made, in epoch milliseconds. */
  readonly triedAt: number
  /** The largest number of calls answering at once since the endpoint came back. */
  readonly proven: number
  /** The value of `proven` when the endpoint last stopped answering a crowd: from there the room grows slowly; absent: unknown. */
  readonly threshold: number | undefined
  /** Calls that were refused since the last answer. */
  readonly refusals: number
  /** The part of `refusals` that was news, at a room that had been answered before. */
  readonly inRoom: number
  /** Refused probes since the endpoint last answered a crowd; absent: it has not answered one. */
  readonly probes: number | undefined
  /** Answers until the room grows; 0 while it grows with every answer. */
  readonly raiseIn: number
  /** Rounds of answers between two tries for more room; doubles when such a try is refused. */
  readonly patience: number
  /** Since when no turn waits, and no turn that has waited calls, in epoch milliseconds; absent: a turn does, or none has waited yet. */
  readonly leftAt: number | undefined
}

/** The gate of an endpoint without a known failure. */
export const open: Gate = {
  phase: "open",
  underway: 0,
  answering: 0,
  room: 1,
  last: undefined,
  triedAt: 0,
  proven: 0,
  threshold: undefined,
  refusals: 0,
  inRoom: 0,
  probes: undefined,
  raiseIn: 0,
  patience: 1,
  leftAt: undefined
}

/** The answer to a turn whose wait is over. */
export type CallDecision = Data.TaggedEnum<{
  /** The turn may call. */
  Go: {}
  /** A probe is under way; ask again when the gate has changed. */
  Hold: {}
  /** The turn shares this failure of another turn's recent call. */
  Share: { readonly failure: Failure.Failure }
}>
export const CallDecision = Data.taggedEnum<CallDecision>()

/** The largest age of a shared failure. */
const FRESH_MS = 60_000

/** A shared failure is no older than this part of the turn's own wait: after 5 s of waiting, half a second. */
const FRESH_SHARE = 0.1

/** Probes cost no more than this part of the calls that schedules would have made (Gate.G4). */
export const PROBE_SHARE = 0.03

/** The shortest time between two probes: more frequent probes gain nothing. */
export const PROBE_MIN_MS = 5_000

/** After this many refusals in a row, at a room that had been answered, the endpoint is down. */
export const FINAL = 2

/** This many refusals in a row are not the fault of single requests. */
export const CERTAIN = 10

/** The largest age of the last of them for a first attempt to share it: a new prompt must not fail because of old findings. */
export const CERTAIN_MS = 2_000

/** An endpoint that has just stopped answering a crowd may be back soon: this many probes are made 5 s, 15 s, 45 s … apart. */
export const EAGER_PROBES = 5
/** The factor between the times of these probes. */
export const EAGER_FACTOR = 3

/** Gate.G5: the time by which the last of those probes would have been made, had a turn been left to make it: 20 minutes. */
export const FORGET_MS = PROBE_MIN_MS * EAGER_FACTOR ** EAGER_PROBES

/** The longest time between two tries for more room, in rounds of answers. */
export const MAX_PATIENCE = 16

/** Whether a failure concerns the endpoint, and not a single request, its key, or this program. */
export const concerns = ({ defect, reason, retryable }: Failure.Failure): boolean =>
  defect !== true && retryable && ENDPOINTS.has(reason)

/** Counts a turn that begins to wait. */
export const entered = (gate: Gate, now: number): Gate => ({ ...recalled(gate, now), leftAt: undefined })

/**
 * Shuts the gate for a turn that waits since before a restart, when this process knows of no failure. Otherwise turns that waited across a
 * restart would have no probe, and would not be woken early.
 */
export const remembered = (gate: Gate, since: number): Gate =>
  gate.phase === "open" ? { ...gate, phase: "shut", room: 1, triedAt: since } : gate

/** Answers a turn that asks to call after a wait of `waitedMs`. */
export const ask = (gate: Gate, now: number, waitedMs: number): readonly [CallDecision, Gate] => {
  if (gate.phase === "open") return [CallDecision.Go(), admit(gate, now)]
  if (isFull(gate)) return [CallDecision.Hold(), gate]
  const { last } = gate
  const isFresh = gate.phase === "shut" && last !== undefined && now - last.at <= freshFor(waitedMs)
  return isFresh ? [CallDecision.Share({ failure: last.failure }), gate] : [CallDecision.Go(), admit(gate, now)]
}

/** Admits a turn, whether woken early or after its wait: its call is under way. */
export const admit = (gate: Gate, now: number): Gate => ({
  ...entered(gate, now),
  underway: gate.underway + 1,
  triedAt: now
})

/** Answers a first attempt that asks to call. */
export const askFirst = (gate: Gate, now: number): CallDecision =>
  gate.phase === "shut" && gate.last !== undefined && gate.refusals >= CERTAIN && now - gate.last.at <= CERTAIN_MS
    ? CallDecision.Share({ failure: gate.last.failure })
    : CallDecision.Go()

/** Records that a retry has shown its first content. */
export const answered = (before: Gate): Gate => {
  const answering = before.answering + 1
  const proven = Math.max(before.proven, answering)
  const gate = { ...before, answering, proven, refusals: 0, inRoom: 0 }
  switch (gate.phase) {
    case "open":
      return gate
    case "shut":
      return ramp(gate)
    case "ramp": {
      const raiseIn = Math.max(0, gate.raiseIn - 1)
      if (raiseIn > 0) return { ...gate, raiseIn }
      const room = gate.room + 1
      const isSlowStart = gate.raiseIn === 0 && room <= (gate.threshold ?? Infinity)
      return { ...gate, room, raiseIn: isSlowStart ? 0 : room * gate.patience } // Gate.G3
    }
    default:
      return gate.phase satisfies never
  }
}

/** Records the end of a retry without a failure of the endpoint: it succeeded, or its turn was aborted. */
export const ended = (gate: Gate, hadAnswered: boolean): Gate => leave(gate, hadAnswered)

/**
 * Records that a retry that began at `beganAt` has failed because of the endpoint.
 *
 * **Details**
 *
 * A retry that began before the last failure was known is part of that finding, and no news: the room shrinks to the number of answering
 * calls. News means that the room was too large; or, `FINAL` times in a row at a room that had been answered, that the endpoint accepts no
 * more calls, though it may still answer earlier ones.
 */
export const failed = (
  gate: Gate,
  now: number,
  failure: Failure.Failure,
  { beganAt, hadAnswered }: { readonly beganAt: number; readonly hadAnswered: boolean }
): Gate => {
  const isNews = gate.last === undefined || beganAt >= gate.last.at
  const left = { ...leave(gate, hadAnswered), last: { failure, at: now }, refusals: gate.refusals + 1 }
  const room = left.answering
  const isTooLarge = room >= gate.proven
  const inRoom = !isNews || isTooLarge ? gate.inRoom : gate.inRoom + 1
  if (room === 0 || inRoom >= FINAL) {
    const probes = gate.phase === "ramp" ? 0 : gate.probes === undefined ? undefined : gate.probes + 1
    const threshold = gate.phase === "ramp" ? gate.proven : gate.threshold
    return { ...left, phase: "shut", room: 1, inRoom: 0, probes, threshold }
  }
  if (gate.phase === "shut") return left
  const patience = isNews && isTooLarge ? Math.min(MAX_PATIENCE, gate.patience * 2) : gate.patience
  return { ...left, phase: "ramp", room, inRoom, patience, raiseIn: room * patience }
}

/**
 * Records that a first attempt, or another process's call, has failed because of the endpoint: that is news, unless retries are being
 * answered.
 */
export const failedFirst = (before: Gate, now: number, failure: Failure.Failure): Gate => {
  const gate = recalled(before, now)
  if (gate.phase === "ramp" || gate.answering > 0) return gate
  const triedAt = Math.max(gate.triedAt, now)
  return { ...gate, phase: "shut", room: 1, last: { failure, at: now }, triedAt, refusals: gate.refusals + 1 }
}

/** Records that a first attempt has shown content: the endpoint will answer waiting turns too. */
export const answeredFirst = (gate: Gate): Gate =>
  gate.phase === "shut" ? ramp({ ...gate, refusals: 0 }) : { ...gate, refusals: 0 }

/** Records that no turn waits any more. The findings of a ramp are dropped; those of an endpoint that failed last are kept for `FORGET_MS`. */
export const settled = (gate: Gate, now: number): Gate => {
  if (gate.underway > 0) return gate
  if (gate.phase === "ramp") return open
  return gate.leftAt === undefined ? { ...gate, leftAt: now } : gate
}

/** Returns how many waiting turns may be woken early now, and when to ask again at the latest; infinity: at the next change. */
export const wakes = (
  gate: Gate,
  now: number,
  waiting: { readonly count: number; readonly meanWaitMs: number }
): { readonly count: number; readonly againAt: number } => {
  const { count, meanWaitMs } = waiting
  if (count === 0 || gate.phase === "open") return { count, againAt: Infinity }
  if (gate.phase === "ramp")
    return { count: Math.min(count, Math.max(0, gate.room - gate.underway)), againAt: Infinity }
  if (isFull(gate)) return { count: 0, againAt: Infinity }
  const byShare = meanWaitMs / (count * PROBE_SHARE) // Gate.G4
  const eagerly =
    gate.probes !== undefined && gate.probes < EAGER_PROBES ? PROBE_MIN_MS * EAGER_FACTOR ** gate.probes : Infinity
  const probeAt = gate.triedAt + Math.max(PROBE_MIN_MS, Math.min(byShare, eagerly))
  return probeAt <= now ? { count: 1, againAt: Infinity } : { count: 0, againAt: probeAt }
}

// --- internal

/**
 * The reasons that concern the endpoint. M3: an abort that the user did not request counts as a network fault. `unknown` is not among them:
 * it may concern a single request, and quote it.
 */
const ENDPOINTS: ReadonlySet<Failure.Reason> = new Set<Failure.Reason>([
  "rate-limited",
  "quota-exhausted",
  "overloaded",
  "server-error",
  "network",
  "timeout",
  "aborted"
])

/** Gate.G5 */
const recalled = (gate: Gate, now: number): Gate =>
  gate.leftAt !== undefined && now - gate.leftAt >= FORGET_MS ? open : gate

/** Whether no retry may start. While the endpoint fails only calls without content count: the others may take long. */
const isFull = (gate: Gate): boolean =>
  gate.phase === "shut" ? gate.underway > gate.answering : gate.underway >= gate.room

const freshFor = (waitedMs: number): number => Math.min(FRESH_MS, waitedMs * FRESH_SHARE)

const ramp = (gate: Gate): Gate => ({
  ...gate,
  phase: "ramp",
  room: gate.underway + 1,
  proven: gate.answering,
  raiseIn: 0,
  patience: 1
})

const leave = (gate: Gate, hadAnswered: boolean): Gate => ({
  ...gate,
  underway: Math.max(0, gate.underway - 1),
  answering: Math.max(0, gate.answering - (hadAnswered ? 1 : 0))
})
