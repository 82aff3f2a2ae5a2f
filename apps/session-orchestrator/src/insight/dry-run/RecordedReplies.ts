/**
 * Replies to the calls of a replay as the recorded endpoints would have, as far as the record has it.
 *
 * - An endpoint is as its last recorded call before found it: down between two failed calls, and up from its first successful call until
 *   the next failed call. Before its first recorded call it is as that call found it.
 * - A failure of a single request, such as a context that is too long, belongs to its turn: the same turn would meet it at that target
 *   again, and no other turn would.
 * - An endpoint without a recorded call is assumed to answer, unless an outage describes it.
 * - An answer is the turn's own recorded one for that step, otherwise one as long as the endpoint's answer next to it; its tokens are
 *   unknown then.
 */
import { Gate } from "@holdfast/policy"
import { type Failure, Target } from "@holdfast/wire"
import type { DryCall, Reply } from "./DryTurn.ts"
import type { RecordedCall } from "./DryTurnCourse.ts"

/** Replies by recorded calls, and what they had to assume; `described` replies for the targets that outages describe. */
export const make = (calls: ReadonlyArray<RecordedCall>, described: (call: DryCall) => Reply | undefined) => {
  const endpoints = endpointsOf(calls)
  const own = ownOf(calls)
  /** Calls of targets that the record does not have. */
  const unknown = new Map<string, number>()
  /** Calls before an endpoint's first recorded call, or after its last. */
  const beyond = new Map<string, number>()
  const count = (counts: Map<string, number>, key: string) => void counts.set(key, (counts.get(key) ?? 0) + 1)
  const reply = (call: DryCall): Reply | undefined => {
    const { now, prompted, request } = call
    const given = described(call)
    if (given !== undefined) return given
    const key = keyOf(request)
    const refused = own.failures.get(`${prompted.turnId} ${key}`)
    if (refused !== undefined) return failedAs(refused)
    const seen = endpoints.get(key)
    const answer = own.answers.get(`${prompted.turnId} ${request.step}`)
    if (seen === undefined) {
      count(unknown, Target.format(request.target))
      return answeredAs(answer, undefined)
    }
    const at = lastBefore(seen, now)
    if (at < 0 || at === seen.length - 1) count(beyond, Target.format(request.target))
    const state = seen[Math.max(0, at)]
    if (state?.outcome._tag === "Failed") return failedAs(state)
    return answeredAs(answer, state)
  }
  return { reply, unknown, beyond }
}

// --- internal

const keyOf = ({ credential, target }: RecordedCall["route"]): string => `${Target.format(target)} ${credential ?? ""}`

/** Whether a failure is of the endpoint or its key, and not of a single request. */
const isShared = (failure: Failure.Failure): boolean => Gate.concerns(failure) || SHARED.has(failure.reason)

/** Besides those of the gate: failures that every call with that key, or of that model, would meet. */
const SHARED: ReadonlySet<Failure.Reason> = new Set<Failure.Reason>(["auth", "model-unavailable", "quota-exhausted"])

/** The calls that found out about an endpoint, in the order of their begins. */
const endpointsOf = (calls: ReadonlyArray<RecordedCall>): ReadonlyMap<string, ReadonlyArray<RecordedCall>> => {
  const found = calls.filter(({ outcome }) => outcome._tag === "Completed" || isShared(outcome.failure))
  return Map.groupBy(
    found.toSorted((a, b) => a.at - b.at),
    ({ route }) => keyOf(route)
  )
}

const ownOf = (calls: ReadonlyArray<RecordedCall>) => {
  /** By turn and endpoint. */
  const failures = new Map<string, RecordedCall>()
  /** By turn and step. */
  const answers = new Map<string, RecordedCall>()
  for (const call of calls) {
    const { outcome, route, step, turnId } = call
    if (outcome._tag === "Completed") answers.set(`${turnId} ${step}`, call)
    else if (!isShared(outcome.failure)) failures.set(`${turnId} ${keyOf(route)}`, call)
  }
  return { failures, answers }
}

/** The index of the last call that began at `now` or before; -1: none. */
const lastBefore = (calls: ReadonlyArray<RecordedCall>, now: number): number => {
  let [low, high] = [0, calls.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((calls[middle]?.at ?? Infinity) <= now) low = middle + 1
    else high = middle
  }
  return low - 1
}

const lengthOf = ({ at, outcome }: RecordedCall): number => Math.max(0, outcome.endedAt - at)

const failedAs = (call: RecordedCall): Reply => {
  const { outcome } = call
  if (outcome._tag !== "Failed") throw new Error("an answered call has no failure")
  const { endedAt: _, spread: __, ...failed } = outcome
  return { endAt: lengthOf(call), outcome: failed }
}

const answeredAs = (own: RecordedCall | undefined, near: RecordedCall | undefined): Reply => {
  if (own?.outcome._tag === "Completed") {
    const { endedAt: _, ...completed } = own.outcome
    return { endAt: lengthOf(own), outcome: completed }
  }
  const endAt = near === undefined ? 0 : lengthOf(near)
  return { endAt, outcome: { _tag: "Completed", content: [{ type: "text", text: "…" }], finishReason: "stop" } }
}
