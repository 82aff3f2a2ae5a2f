/**
 * The gate before one endpoint: which of the turns that wait for it may call it, and when (X5).
 *
 * A plain value per endpoint and credential, and what happens to it. Whoever holds one tells it of every call and asks it
 * before a retry; it never sleeps and never calls.
 *
 * G1. First attempts are never held: the gate is for turns that have failed already and wait. Where `CERTAIN` calls in a row
 *     were refused, the last of them just now, a first attempt shares that failure too.
 * G2. While the endpoint fails, one retry at a time is under way: the probe. A turn whose wait is over meanwhile is held until
 *     the probe has shown content or failed, and shares its failure: it goes on in its schedule without a call of its own.
 * G3. Once a retry has shown content the room grows by one with every answer, so it doubles with every round, until a call
 *     is refused: then it is what was answering, and from there on it is tried now and then whether there is more.
 * G4. A turn is woken early only into room that is there, or as a probe; and probes cost no more than `PROBE_SHARE` of the
 *     calls that the waiting turns would have made by their schedules. So a turn that waits alone keeps its schedule.
 * G5. What a crowd has found out is forgotten `FORGET_MS` after the last of them has gone, and not before: one that waits again and
 *     again has gone in between for no longer than its calls take.
 *
 * Read: RFC 5681 (slow start); Netflix's concurrency-limits; the half-open state of circuit breakers.
 */
import type { Failure } from "@holdfast/wire"
import { Data } from "effect"

export interface Gate {
  /** Nothing is known against the endpoint; it fails; or it has come back, and not everybody has been let in yet. */
  readonly phase: "open" | "shut" | "ramp"
  /** Retries that were admitted and have not ended. */
  readonly underway: number
  /** Of those, the ones that have shown content. */
  readonly answering: number
  /** How many retries may be under way at once. */
  readonly room: number
  /** The last failure, and when it came in epoch milliseconds; absent in an endpoint that never failed. */
  readonly last: { readonly failure: Failure.Failure; readonly at: number } | undefined
  /** When a turn was last woken as a probe, or a call was last made, in epoch milliseconds. */
  readonly triedAt: number
  /** The most that were answering at once since the endpoint came back. */
  readonly proven: number
  /** What was proven when the endpoint last stopped answering a crowd: the room grows slowly from there; absent: not known. */
  readonly threshold: number | undefined
  /** Calls that were refused since the last answer. */
  readonly refusals: number
  /** Of those, news of refusals at a room that had been answered before. */
  readonly inRoom: number
  /** Probes that were refused since the endpoint last answered a crowd; absent where it has not. */
  readonly probes: number | undefined
  /** Answers until the room grows; 0 while it grows with every answer. */
  readonly raiseIn: number
  /** Rounds of answers between two tries for more room; it doubles when one is refused. */
  readonly patience: number
  /** Since when nobody waits, nor calls who has waited, in epoch milliseconds; absent: somebody does, or nobody has yet. */
  readonly leftAt: number | undefined
}

/** An endpoint that nothing is known against. */
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

/** What a turn whose wait is over is told. */
export type Answer = Data.TaggedEnum<{
  /** Call. */
  Go: {}
  /** Somebody is finding out; ask again when the gate has changed. */
  Hold: {}
  /** Somebody has just found out: take this failure for your own. */
  Share: { readonly failure: Failure.Failure }
}>
export const Answer = Data.taggedEnum<Answer>()

/** The most that a shared failure may be old. */
export const FRESH_MS = 60_000

/** A shared failure is no older than this part of the turn's own wait: after 5 s of waiting, half a second. */
export const FRESH_SHARE = 0.1

/** Probes cost no more than this part of the calls that schedules would have made (G4). */
export const PROBE_SHARE = 0.03

/** Two probes are never closer than this: an endpoint that is down learns nothing from being asked more often. */
export const PROBE_MIN_MS = 5_000

/** So many refusals in a row, at a room that had been answered, say that the endpoint has gone. */
export const FINAL = 2

/** So many refusals in a row are no accident of one request. */
export const CERTAIN = 10

/** How old the last of them may be for a first attempt to share it: a person who asks is not put off by old news. */
export const CERTAIN_MS = 2_000

/** An endpoint that has just stopped answering a crowd may be back at once: so many probes are made soon, 5 s, 15 s, 45 s … apart. */
export const EAGER_PROBES = 5
export const EAGER_FACTOR = 3

/** G5: when the last of those probes would have told, had anybody been left to make it: 20 minutes. */
export const FORGET_MS = PROBE_MIN_MS * EAGER_FACTOR ** EAGER_PROBES

/** The longest between two tries for more room, in rounds of answers. */
export const MAX_PATIENCE = 16

/** Whether a failure says something of the endpoint, and not of one request, its key, or this program. */
export const concerns = ({ defect, reason, retryable }: Failure.Failure): boolean =>
  defect !== true && retryable && ENDPOINTS.has(reason)

/** A turn begins to wait. */
export const entered = (gate: Gate, now: number): Gate => ({ ...recalled(gate, now), leftAt: undefined })

/**
 * A turn waits for an endpoint that nothing is known against: what had failed was before this process. Without this, those who
 * waited over a restart would have no probe, and nobody to wake them.
 */
export const remembered = (gate: Gate, since: number): Gate =>
  gate.phase === "open" ? { ...gate, phase: "shut", room: 1, triedAt: since } : gate

/** A turn that has waited `waitedMs` asks to call. */
export const ask = (gate: Gate, now: number, waitedMs: number): readonly [Answer, Gate] => {
  if (gate.phase === "open") return [Answer.Go(), admit(gate, now)]
  if (isFull(gate)) return [Answer.Hold(), gate]
  const { last } = gate
  const isFresh = gate.phase === "shut" && last !== undefined && now - last.at <= freshFor(waitedMs)
  return isFresh ? [Answer.Share({ failure: last.failure }), gate] : [Answer.Go(), admit(gate, now)]
}

/** A turn was woken early, or let in: its call is under way. */
export const admit = (gate: Gate, now: number): Gate => ({
  ...entered(gate, now),
  underway: gate.underway + 1,
  triedAt: now
})

/** A first attempt asks to call. */
export const askFirst = (gate: Gate, now: number): Answer =>
  gate.phase === "shut" && gate.last !== undefined && gate.refusals >= CERTAIN && now - gate.last.at <= CERTAIN_MS
    ? Answer.Share({ failure: gate.last.failure })
    : Answer.Go()

/** A retry has shown its first content. */
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
      return { ...gate, room, raiseIn: isSlowStart ? 0 : room * gate.patience } // G3
    }
    default:
      return gate.phase satisfies never
  }
}

/** A retry has ended well, or its turn was aborted: that says nothing against the endpoint. */
export const ended = (gate: Gate, hadAnswered: boolean): Gate => leave(gate, hadAnswered)

/**
 * A retry that began at `beganAt` has failed for a reason that is the endpoint's.
 *
 * **Details**
 *
 * One that began before the last failure was known is part of that finding, and no news: the room shrinks to what answers.
 * News is either that the room was too large, or, `FINAL` times in a row at a room that had been answered, that the endpoint
 * takes no more calls, though it may still be answering those that it has.
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

/** A first attempt, or another process's call, has failed for a reason that is the endpoint's: that is news, unless retries know better. */
export const failedFirst = (before: Gate, now: number, failure: Failure.Failure): Gate => {
  const gate = recalled(before, now)
  if (gate.phase === "ramp" || gate.answering > 0) return gate
  const triedAt = Math.max(gate.triedAt, now)
  return { ...gate, phase: "shut", room: 1, last: { failure, at: now }, triedAt, refusals: gate.refusals + 1 }
}

/** A first attempt has shown content. An endpoint that answers a newcomer will answer those who wait. */
export const answeredFirst = (gate: Gate): Gate =>
  gate.phase === "shut" ? ramp({ ...gate, refusals: 0 }) : { ...gate, refusals: 0 }

/** Nobody waits any more: what was known of a crowd is of no use to the next one. An endpoint that failed last may do so again. */
export const settled = (gate: Gate, now: number): Gate => {
  if (gate.underway > 0) return gate
  if (gate.phase === "ramp") return open
  return gate.leftAt === undefined ? { ...gate, leftAt: now } : gate
}

/** How many of the turns that wait may be woken early now, and when to look again at the latest; infinity: at the next change. */
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
  const byShare = meanWaitMs / (count * PROBE_SHARE) // G4
  const eagerly =
    gate.probes !== undefined && gate.probes < EAGER_PROBES ? PROBE_MIN_MS * EAGER_FACTOR ** gate.probes : Infinity
  const probeAt = gate.triedAt + Math.max(PROBE_MIN_MS, Math.min(byShare, eagerly))
  return probeAt <= now ? { count: 1, againAt: Infinity } : { count: 0, againAt: probeAt }
}

// --- internal

/**
 * M3: an abort that nobody here asked for is the network's. What nobody could classify is not among them: it may be about the one
 * request, and quote it.
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

/** G5 */
const recalled = (gate: Gate, now: number): Gate =>
  gate.leftAt !== undefined && now - gate.leftAt >= FORGET_MS ? open : gate

/** While the endpoint fails only those count that have not been answered: it may be busy with the rest for long. */
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
