/**
 * Runs recorded turns again under other configurations (X10), and lists what that has to assume.
 *
 * Replay.L1. The turns as they were run by their records alone, through the same code: both columns of a comparison are counted alike.
 * Replay.L2. Turns of one conversation follow each other, as they did.
 */
import { Profile } from "@holdfast/policy"
import { Count, type Target } from "@holdfast/wire"
import type { Recording, RecordedTurn } from "../storage/Recording.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import * as ConfiguredRun from "./ConfiguredRun.ts"
import * as DryRun from "./DryRun.ts"
import type { DryCall, Surroundings } from "./DryTurn.ts"
import * as Outages from "./Outages.ts"
import * as RecordedReplies from "./RecordedReplies.ts"
import { ReplayedTurn } from "./ReplayedTurn.ts"
import * as SimulatedReplies from "./SimulatedReplies.ts"
import * as Trial from "./Trial.ts"

/** The turns as they were. */
export interface Original {
  readonly run: DryRun.DryRun
  /** The calls that it has, once it has run. */
  readonly calls: ReadonlyArray<RecordedReplies.RecordedCall>
}

/** How a record is run again. Times are in epoch milliseconds. */
export interface Scene {
  readonly recording: Recording
  /** When the record was read. */
  readonly readAt: number
  /** How long the run goes on after that, in milliseconds. */
  readonly forMs: number
  readonly mostCalls: number
  readonly seed: number
  /** Describes targets that the record does not have. */
  readonly outages: Outages.Outages
  /** The model of all turns; absent: that of their conversations. */
  readonly model?: Target.Target | undefined
}

/** A replay under one configuration. */
export interface Replayed {
  readonly run: DryRun.DryRun
  readonly turns: ReadonlyArray<ReplayedTurn>
  readonly replies: RecordedReplies.RecordedReplies
}

/** The turns as they were. */
export const original = ({ readAt, recording }: Pick<Scene, "recording" | "readAt">): Original => {
  const calls: Array<RecordedReplies.RecordedCall> = []
  const run = new DryRun.DryRun({
    setup: {
      policy: Profile.resolve({}),
      models: {},
      credentials: {},
      endpointOf: () => undefined,
      allowanceOf: () => undefined
    },
    startAt: startOf(recording, readAt),
    until: readAt,
    mostCalls: Infinity,
    spread: () => 0,
    reply: () => undefined,
    turns: (around) =>
      chained(
        recording,
        (recorded) => new ReplayedTurn(recorded, around, { isVerbatim: true, onCall: (call) => calls.push(call) })
      )
  })
  return { run, calls }
}

/** The same turns under a configuration; `calls` are those of the record. */
export const replayed = (
  config: ConfiguredRun.Configured,
  calls: ReadonlyArray<RecordedReplies.RecordedCall>,
  scene: Scene
): Replayed => {
  const { forMs, model, mostCalls, outages, readAt, recording, seed } = scene
  const setup = ConfiguredRun.setupOf(config)
  const startAt = startOf(recording, readAt)
  const simulated = SimulatedReplies.make(outages, startAt, { ...setup.policy, maxTurns: recording.turns.length * 10 })
  const isDescribed = ({ request }: DryCall) => Outages.describes(outages, request.target)
  const replies = RecordedReplies.make(calls, (call) => (isDescribed(call) ? simulated(call) : undefined))
  let turns: ReadonlyArray<ReplayedTurn> = []
  const run = new DryRun.DryRun({
    setup,
    startAt,
    until: readAt + forMs,
    mostCalls,
    spread: DryRun.draws(seed),
    reply: replies.reply,
    turns: (around) =>
      (turns = chained(
        recording,
        (recorded) => new ReplayedTurn(targeted(recorded, model), withPolicy(around, recorded, config))
      ))
  })
  return { run, turns, replies }
}

/** What a replay had to assume, one sentence each. */
export const assumptions = (
  { isCut, without }: Recording,
  replayed: ReadonlyArray<Pick<Replayed, "replies" | "turns">>,
  configured: ReadonlyArray<Pick<ConfiguredRun.Configured, "spend">> = []
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

// --- internal

const startOf = ({ turns }: Recording, readAt: number): number =>
  turns.reduce((first, { acceptedAt }) => Math.min(first, acceptedAt), readAt)

const targeted = (recorded: RecordedTurn, model: Target.Target | undefined): RecordedTurn =>
  model === undefined ? recorded : { ...recorded, target: model }

/** The policy of a turn's conversation under a configuration. */
const withPolicy = (
  around: Surroundings,
  recorded: RecordedTurn,
  { retry }: ConfiguredRun.Configured
): Surroundings => ({
  ...around,
  policy: { ...TurnSetting.policyOf(recorded, { retry }), enabled: retry.enabled ?? recorded.autoRetryEnabled }
})

/** Replay.L2 */
const chained = ({ turns }: Recording, make: (recorded: RecordedTurn) => ReplayedTurn): ReadonlyArray<ReplayedTurn> => {
  const last = new Map<string, { readonly turn: ReplayedTurn; readonly endedAt: number }>()
  return turns.map((recorded) => {
    const { acceptedAt, conversationId, end } = recorded
    const turn = make(recorded)
    const before = last.get(conversationId)
    if (before !== undefined) turn.follows(before.turn, Math.max(acceptedAt, before.endedAt))
    last.set(conversationId, { turn, endedAt: end?.endedAt ?? Infinity })
    return turn
  })
}

const totals = (counts: ReadonlyArray<ReadonlyMap<string, number>>): ReadonlyArray<readonly [string, number]> => {
  const sums = new Map<string, number>()
  for (const one of counts) for (const [key, n] of one) sums.set(key, Math.max(sums.get(key) ?? 0, n))
  return Array.from(sums)
}
