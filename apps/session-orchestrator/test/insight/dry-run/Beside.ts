/** Runs the same turns and outages through the service, under a test clock, and through a dry run. */
import { Timer } from "@holdfast/journal"
import { type Provider, Records } from "@holdfast/kernel"
import { type Allowance, Profile, Routers, type Routes } from "@holdfast/policy"
import { Simulated } from "@holdfast/simulated"
import { Ids, Target } from "@holdfast/wire"
import { Clock, Context, Duration, Effect, Layer, Random, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Conversations } from "../../../src/engine/conversation/Conversations.ts"
import { Defaults } from "../../../src/engine/conversation/Defaults.ts"
import { Providers } from "../../../src/engine/conversation/Providers.ts"
import * as Tools from "../../../src/engine/conversation/Tools.ts"
import type * as Trial from "../../../src/insight/dry-run/Trial.ts"
import * as DryRun from "../../../src/insight/dry-run/DryRun.ts"
import { DryTurn } from "../../../src/insight/dry-run/DryTurn.ts"
import * as OutageScripts from "../../../src/insight/dry-run/OutageScripts.ts"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import type * as SpendLimits from "../../../src/config/limits/SpendLimits.ts"
import * as Recording from "../../../src/storage/Recording.ts"
import * as Orchestrator from "../../../src/engine/orchestrator/Orchestrator.ts"
import type { TurnLog } from "../../../src/storage/TurnLog.ts"
import { Standings } from "../../../src/storage/Standings.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import * as Condition from "../../../src/base/system/Condition.ts"
import * as Logged from "../../storage/Logged.ts"

/** Turns, a policy and outages. */
export interface Night {
  readonly retry: Profile.RetrySettings
  readonly outages: ReadonlyArray<string>
  readonly turns: number
  /** Between two prompts. */
  readonly gapMs: number
  /** Drawn for every failure. */
  readonly spread: number
  readonly isGated: boolean
  /** The names of the first provider's credentials. Absent: it has one. */
  readonly keys?: ReadonlyArray<string> | undefined
  /** The limits of each provider's calls. Absent: there are none. */
  readonly allowance?: Allowance.Allowance | undefined
  /** Limits of spending; absent: there are none. */
  readonly spend?: ReadonlyArray<SpendLimits.SpendLimit>
}

/** What a turn has on record: every attempt, decision and wait, and its end, with their times after the first prompt. */
export type Account = ReadonlyArray<string>

/** A turn without outages. */
export const plain: Night = { retry: {}, outages: [], turns: 1, gapMs: 0, spread: 0, isGated: false }

export const MODEL: Target.Target = { provider: "one", model: "m" }
const NAMES = ["one", "two", "three"]
const HOURS = 30

const credentialsOf = ({ keys = [] }: Night): Routes.Known["credentials"] => ({ one: keys, two: [], three: [] })

const endpointOf = (provider: string) => ({ baseUrl: `http://${provider}`, credential: undefined })

/** The accounts of all turns in a dry run. */
export const dry = (night: Night): ReadonlyArray<Account> => {
  const policy = Profile.resolve(night.retry)
  const outages = outagesOf(night.outages)
  const turns: Array<DryTurn> = []
  const run = new DryRun.DryRun({
    setup: {
      policy,
      models: {},
      credentials: credentialsOf(night),
      endpointOf: night.isGated ? endpointOf : () => undefined,
      allowanceOf: () => night.allowance,
      ...(night.spend && { spend: spendOf(night.spend) })
    },
    startAt: 0,
    until: Duration.toMillis(Duration.hours(HOURS)),
    mostCalls: Infinity,
    spread: () => night.spread,
    reply: OutageScripts.simulated(outages, 0, { ...policy, maxTurns: 1_000 }),
    turns: (around) => {
      for (let n = 0; n < night.turns; n++)
        turns.push(new DryTurn({ turnId: `turn-${n}`, startedAt: n * night.gapMs, target: MODEL }, around))
      return turns
    }
  })
  while (run.step(10_000)) {}
  return turns.map(({ course: { end }, records }) => [
    ...records.flatMap((record) => lineOf(record, 0)),
    end === undefined ? "open" : `${end.status} at ${end.at}`
  ])
}

/** The same in the service. */
export const served = (night: Night): Effect.Effect<ReadonlyArray<Account>, unknown> =>
  inService(night, ({ conversations, from }) =>
    Effect.gen(function* () {
      return yield* Effect.forEach(Array.from({ length: night.turns }), (_, n) =>
        Effect.gen(function* () {
          const turnId = Ids.TurnId.make(`turn-${n}`)
          const records = (yield* Logged.load(turnId)).flatMap((stored) => Records.parse(stored) ?? [])
          const lines = records.flatMap((record) => lineOf(record, from))
          if (!records.some(isLast) && !isUnanswered(records)) return [...lines, "open"]
          const { end } = yield* conversations.result(turnId)
          return [...lines, `${end.status} at ${end.endedAt - from}`]
        })
      )
    })
  )

/** What the service has on record, as a replay reads it. */
export const recorded = (night: Night): Effect.Effect<Recording.Recording, unknown> =>
  inService(night, () => Effect.flatMap(SqlClient.SqlClient, (sql) => Recording.read(sql, 0, 5_000)))

/** The configuration of a night. */
export const configOf = ({ isGated, retry }: Night): Trial.Configured => ({
  gate: { enabled: isGated },
  model: MODEL,
  models: {},
  retry,
  providers: new Map(
    NAMES.map((name) => [
      name,
      { type: "openai-compatible", name, baseUrl: `http://${name}`, apiKeyEnv: [], credentials: [], headers: {} }
    ])
  )
})

// --- internal

/** Plays a night in the service, and looks at it in the morning. */
const inService = <A>(
  night: Night,
  look: (service: {
    readonly conversations: Conversations["Service"]
    readonly from: number
  }) => Effect.Effect<A, unknown, TurnLog | SqlClient.SqlClient>
): Effect.Effect<A, unknown> =>
  Effect.gen(function* () {
    const from = yield* Clock.currentTimeMillis
    const outages = outagesOf(night.outages)
    const simulated = new Map<string, Provider.Provider["Service"]>()
    for (const name of NAMES) simulated.set(name, yield* Simulated.makeOpenedAt(from))
    const provider: Provider.Provider["Service"] = {
      stream: (request) => {
        const model = OutageScripts.scriptOf(outages, request.target)
        const endpoint = simulated.get(request.target.provider)
        if (endpoint === undefined) throw new Error(`there is no ${request.target.provider}`)
        return endpoint.stream({ ...request, step: 0, attempt: 0, target: { provider: "simulated", model } })
      }
    }
    const resources = Layer.mergeAll(
      Layer.succeed(Providers, {
        get: () => provider,
        names: NAMES,
        unusable: () => undefined,
        credentials: credentialsOf(night)
      }),
      Layer.succeed(Defaults, {
        model: MODEL,
        retry: night.retry,
        models: {},
        ...(night.spend && { spend: spendOf(night.spend) })
      }),
      Gates.layer(night.isGated ? endpointOf : () => undefined, () => night.allowance),
      Tools.layerNoop,
      // In memory and at once: the test clock does not wait for a write that is under way, and the next turn would not know of it.
      Layer.sync(Standings, Routers.inMemory),
      Condition.layer
    ).pipe(Layer.provideMerge(Timer.layer))
    const context = yield* Layer.build(Layer.fresh(Orchestrator.layer.pipe(Layer.provide(resources))))
    const conversations = Context.get(context, Conversations)
    for (let n = 0; n < night.turns; n++) {
      const id = yield* conversations.create({})
      yield* conversations.prompt(id, { prompt: "", turnId: Ids.TurnId.make(`turn-${n}`) })
      yield* advance(night.gapMs)
    }
    yield* advance(HOURS * 3_600_000 - night.turns * night.gapMs)
    return yield* look({ conversations, from })
  }).pipe(
    Effect.scoped,
    Effect.provide(MemoryStore.withClient),
    Effect.provideService(Random.Random, {
      nextIntUnsafe: () => Math.floor(night.spread * Number.MAX_SAFE_INTEGER),
      nextDoubleUnsafe: () => night.spread
    })
  )

const spendOf = (limits: ReadonlyArray<SpendLimits.SpendLimit>) => ({ limits, prices: {}, isShared: false })

/** Reads outages that are as they should be. */
export const outagesOf = (texts: ReadonlyArray<string>): OutageScripts.OutageScripts =>
  Result.getOrThrowWith(OutageScripts.read(texts), (why) => why)

/** Moves the clock. What comes of a moment at once is done first. */
const advance = (ms: number) => Effect.andThen(Effect.andThen(settled, TestClock.adjust(ms)), settled)

const settled = Effect.promise(async () => {
  for (let n = 0; n < 40; n++) await new Promise((resolve) => setImmediate(resolve))
})

/** Whether a turn's end follows. */
const isLast = ({ kind, value }: Records.TurnRecord): boolean =>
  (kind === "Attempt" && value._tag === "Completed" && value.finishReason !== "tool-calls") ||
  (kind === "Decision" && value._tag === "GiveUp")

/** Whether the time for an answer to a question is over. */
const isUnanswered = (records: ReadonlyArray<Records.TurnRecord>): boolean => {
  const [asked, ended] = records.slice(-2).map((record) => (record.kind === "Wake" ? record.value.type : undefined))
  return asked === "asked" && ended === "elapsed"
}

const routeOf = (route: { target: Target.Target; role?: string } | undefined) =>
  route === undefined ? "" : ` to ${Target.format(route.target)} (${route.role ?? "primary"})`

const lineOf = (record: Records.TurnRecord, from: number): ReadonlyArray<string> => {
  const { kind, number, step } = record
  const name = `${kind} ${step}/${number}`
  switch (kind) {
    case "Route":
      return [`${name}${routeOf(record.value.route)}`]
    case "Attempt": {
      const { value } = record
      const what =
        value._tag === "Failed" ? ` ${value.failure.reason} ${value.contentSeen} ${value.failure.shared}` : ""
      return [`${name} ${value._tag}${what} at ${value.endedAt - from}`]
    }
    case "Decision": {
      const { value } = record
      return value._tag === "GiveUp"
        ? [`${name} gave up: ${value.because} ${JSON.stringify(value.basis)}`]
        : [`${name} retry ${value.attempt} in ${value.delayMs} at ${value.retryAt - from}${routeOf(value.route)}`]
    }
    case "Wake": {
      const { value } = record
      const more =
        value.type === "now" ? ` early ${value.early}` : value.type === "elapsed" ? ` held ${value.heldMs}` : ""
      return [`${name} ${value.type}${more} at ${(value.at ?? 0) - from}`]
    }
    default:
      return kind === "Content" || kind === "Seal" ? [] : [name]
  }
}
