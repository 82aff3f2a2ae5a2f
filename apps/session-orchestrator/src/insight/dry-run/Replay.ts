/**
 * Runs recorded turns again under other configurations (X10), and lists what that has to assume.
 *
 * The column "as it was" is computed from the records by the same code, so that both columns of a comparison are counted alike. Turns of one
 * conversation follow each other, as they did.
 */
import { Count, defined, Target, type Failure } from "@holdfast/wire"
import { Effect } from "effect"
import type { Recording, RecordedTurn } from "../../storage/Recording.ts"
import * as TurnSetting from "../../engine/turn/TurnSetting.ts"
import * as DryRun from "./DryRun.ts"
import type { DryCall, Surroundings, Reply } from "./DryTurn.ts"
import * as OutageScripts from "./OutageScripts.ts"
import { ReplayedTurn } from "./ReplayedTurn.ts"
import * as Trial from "./Trial.ts"
import * as DryTurnCourse from "./DryTurnCourse.ts"
import type { RecordedCall } from "./DryTurnCourse.ts"
import { Gate } from "@holdfast/policy"

/** How a recording is run again. Times are in epoch milliseconds. */
interface Scene {
  readonly recording: Recording
  /** When the recording was read. */
  readonly readAt: number
  /** How long the run goes on after that, in milliseconds. */
  readonly forMs: number
  readonly mostCalls: number
  /** Describes targets that the recording does not have. */
  readonly outages: OutageScripts.OutageScripts
  /** The model of all turns; absent: that of their conversations. */
  readonly model?: Target.Target | undefined
}

/** A replay under one configuration. */
type Replayed = ReturnType<typeof replayed>

/** Replays a recording under configurations, side by side, to the end. */
export const run = Effect.fnUntraced(function* (configured: Trial.Configurations, scene: Omit<Scene, "model">) {
  const { calls, result } = yield* original(scene)
  const was = Trial.of("as it was", result, configured[0].config.prices)
  const made: Array<Replayed> = []
  const trials = yield* Effect.forEach(configured, ({ config, model, name }) => {
    const again = replayed(config, calls, { ...scene, model })
    made.push(again)
    return Effect.map(Trial.run(name, again.run, config.prices), (trial) => ({
      ...trial,
      followed: again.turns.map(({ followed }) => followed)
    }))
  })
  const configs = configured.map(({ config }) => config)
  const assumed = assumptions(scene.recording, made, configs)
  const comparison: Trial.Comparison = { outages: scene.outages, was, trials, assumptions: assumed }
  return comparison
})

/** The turns as they were, and the calls of each. */
export const original = Effect.fnUntraced(function* ({ readAt, recording }: Pick<Scene, "recording" | "readAt">) {
  const { turns } = recording
  const read: Array<ReturnType<typeof DryTurnCourse.of>> = []
  const endedAt = new Map<string, number>()
  yield* Trial.inSlices(() => {
    const turn = turns[read.length]
    if (turn === undefined) return false
    const { acceptedAt: startedAt, conversationId, end } = turn
    const from = Math.max(startedAt, endedAt.get(conversationId) ?? startedAt)
    read.push(DryTurnCourse.of({ ...turn, startedAt, from }, true))
    endedAt.set(conversationId, end?.endedAt ?? Infinity)
    return true
  })
  const courses = read.map(({ course }) => course)
  const result = DryRun.resultOf(courses, { startAt: startOf(recording, readAt), until: readAt })
  return { calls: read.map(({ calls }) => calls), result }
})

/** The same turns under a configuration; `calls` are those of the recording. */
export const replayed = (config: Trial.Configured, calls: ReadonlyArray<ReadonlyArray<RecordedCall>>, scene: Scene) => {
  const { forMs, model, mostCalls, outages, readAt, recording } = scene
  const setup = Trial.setupOf(config)
  const startAt = startOf(recording, readAt)
  const simulated = OutageScripts.simulated(outages, startAt, {
    ...setup.policy,
    maxTurns: recording.turns.length * 10
  })
  const isDescribed = ({ request }: DryCall) => OutageScripts.describes(outages, request.target)
  const replies = repliesOf(calls.flat().filter(isMade), (call) => (isDescribed(call) ? simulated(call) : undefined))
  const turns: Array<ReplayedTurn> = []
  const run = new DryRun.DryRun({
    setup,
    startAt,
    until: readAt + forMs,
    mostCalls,
    spread: DryRun.draws(),
    reply: replies.reply,
    turns: function* (around) {
      const last = new Map<string, { readonly turn: ReplayedTurn; readonly endedAt: number }>()
      for (const [n, recorded] of recording.turns.entries()) {
        const { acceptedAt, conversationId, end } = recorded
        const asked = { ...recorded, ...defined({ target: model }) }
        const turn = new ReplayedTurn(asked, calls[n] ?? [], withPolicy(around, recorded, config))
        const before = last.get(conversationId)
        if (before !== undefined) turn.follows(before.turn, Math.max(acceptedAt, before.endedAt))
        last.set(conversationId, { turn, endedAt: end?.endedAt ?? Infinity })
        turns.push(turn)
        yield turn
      }
    }
  })
  return { run, turns, replies }
}

/** What a replay had to assume, one sentence each. */
export const assumptions = (
  { isCut, without }: Recording,
  replayed: ReadonlyArray<Pick<Replayed, "replies" | "turns">>,
  configured: ReadonlyArray<Pick<Trial.Configured, "spend">> = []
): ReadonlyArray<string> => {
  const unknown = totals(replayed.map(({ replies }) => replies.unknown))
  const beyond = totals(replayed.map(({ replies }) => replies.beyond))
  return [
    "An endpoint is down between two failed calls, and up from its first successful call until the next that failed.",
    "Conversations keep their models and their own settings; a command of a person counts until its turn goes another way.",
    ...beyond.map(
      ([target, calls]) =>
        `${target} is assumed to be as its nearest call found it: ${Count.of(calls, "call")} ${calls === 1 ? "was" : "were"} before its first or after its last.`
    ),
    ...unknown.map(
      ([target, calls]) =>
        `${target} is assumed to answer at once: ${Count.of(calls, "call")}, and the record has none. --outage '${target}=SCRIPT' describes it.`
    ),
    ...(configured.some(Trial.hasLimits)
      ? ["A limit of spending (spend) is reached where the record has it, and nowhere else."]
      : []),
    ...(without > 0
      ? [
          `${Count.of(without, "turn")} ${without === 1 ? "is left out, because its" : "are left out, because their"} records are gone (database.retention) or cannot be read.`
        ]
      : []),
    ...(isCut ? ["The oldest turns are left out: there are more than are read at once."] : [])
  ]
}

/**
 * Replies by recorded calls, as their endpoints would have, and what that had to assume; `described` replies for the targets that outages describe.
 *
 * - An endpoint is as its last recorded call before found it: down between two failed calls, and up from its first successful call until
 *   the next failed call. Before its first recorded call it is as that call found it.
 * - A failure of a single request, such as a context that is too long, belongs to its turn: the same turn would meet it at that target
 *   again, and no other turn would.
 * - An endpoint without a recorded call is assumed to answer, unless an outage describes it.
 * - An answer is the turn's own recorded one for that step, otherwise one as long as the endpoint's answer next to it; its tokens are
 *   unknown then.
 */
const repliesOf = (calls: ReadonlyArray<RecordedCall>, described: (call: DryCall) => Reply | undefined) => {
  const endpoints = endpointsOf(calls)
  const own = ownOf(calls)
  /** Calls of targets that the recording does not have. */
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

/** A failure that was taken over was no call (X5). */
const isMade = ({ outcome }: RecordedCall): boolean => outcome._tag !== "Failed" || outcome.failure.shared !== true

const startOf = ({ turns }: Recording, readAt: number): number =>
  turns.reduce((first, { acceptedAt }) => Math.min(first, acceptedAt), readAt)

/** The policy of a turn's conversation under a configuration. */
const withPolicy = (around: Surroundings, recorded: RecordedTurn, { retry }: Trial.Configured) => ({
  ...around,
  policy: { ...TurnSetting.policyOf(recorded, { retry }), enabled: retry.enabled ?? recorded.autoRetryEnabled }
})

/** The most that any column counted, since one sentence stands for all. */
const totals = (counts: ReadonlyArray<ReadonlyMap<string, number>>): ReadonlyArray<readonly [string, number]> => {
  const sums = new Map<string, number>()
  for (const one of counts) for (const [key, n] of one) sums.set(key, Math.max(sums.get(key) ?? 0, n))
  return Array.from(sums)
}

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
