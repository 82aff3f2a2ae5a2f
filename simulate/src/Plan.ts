/**
 * All that happens to the service in a simulated night, drawn from a seed (`make`): who prompts, commands, watches and calls it, what its
 * provider and its disk answer, and when its processes die. `Night` runs a plan. It is a value, so `Shrink` can leave parts of it out.
 */
import * as AimedPlan from "./AimedPlan.ts"
import * as Chance from "./Chance.ts"
import * as ClusterPlan from "./ClusterPlan.ts"
import type { Outcome } from "./Disk.ts"
import type { Reply } from "./Network.ts"
import type { Settings } from "./Service.ts"
import { TOOLS } from "./Workshop.ts"
import type { Order } from "./World.ts"

/** A prompt of a person, who sends it again until it is acknowledged. */
export interface Prompted {
  /** Its name, and the id of its turn if the client chooses that. */
  readonly id: string
  readonly isNamed: boolean
  readonly conversation: string
  /** Milliseconds after the beginning, as everywhere here. */
  readonly at: number
  readonly isSubmitted: boolean
  /** Sends it a second time from another place, so much later. */
  readonly againAfter: number | undefined
  /** The process that answers it dies then, and does not come back. */
  readonly isFatal?: true
}

/**
 * When a thing happens: at a time, or after a moment of the provider's call of this number. That moment is the call's beginning, its last
 * frame (`isEnd`), its break (`isBreak`), or the end of the wait that follows it, if not before (`isWait`). `tasks` are those of the world.
 */
export type Moment =
  | { readonly at: number; readonly tasks?: number }
  | {
      readonly call: number
      readonly ms: number
      readonly tasks?: number
      readonly isWait?: true
      readonly isBreak?: true
    }
  | { readonly call: number; readonly ms?: never; readonly tasks: number; readonly isEnd?: true }

/** A command of a person. */
export interface Commanded {
  readonly id: string
  readonly conversation: string
  /** The turn that it is for; absent: the head. After a call it is that of the call. */
  readonly turn: string | undefined
  readonly when: Moment
  readonly what:
    | { readonly type: "abort" | "retry-now" | "abort-retry" }
    | { readonly type: "wait-until"; readonly inMs: number }
    | { readonly type: "answer-tool"; readonly toolCallId: string; readonly approve: boolean }
    | { readonly type: "extend-budget"; readonly byMs: number }
    | { readonly type: "switch-target"; readonly model: string }
    /** For all turns of the session of a program. */
    | { readonly type: "by-session"; readonly caller: string; readonly command: "abort" | "retry-now" }
  readonly againAfter: number | undefined
  /** How many places send it at once. */
  readonly copies?: number
  /** After a call of another turn, too, it is for its own. */
  readonly isOwn?: true
  /** What the person prompts when it is answered: a queued prompt is edited so. */
  readonly instead?: Prompted
}

/** A client that watches a conversation, or one turn, over connections that are cut. */
export interface Watched {
  readonly conversation: string
  readonly turn: string | undefined
  readonly when: Moment
  /** How long each connection lasts; after the last one it lasts to the end. */
  readonly lasts: ReadonlyArray<number>
  readonly latencyMs: number
  /** How long it takes to read what has come: meanwhile nothing more is taken from the service. */
  readonly readMs: number
}

/** A program that calls through the gateway. */
export interface Called {
  readonly id: string
  readonly at: number
  /** How its User-Agent begins. */
  readonly agent: string
  /** It has a credential of its own, and not Holdfast's. */
  readonly hasOwnKey: boolean
  /** It names its session, so it may come again with another credential. */
  readonly hasSession: boolean
  /** Its login is renewed while it is away. */
  readonly isRenewing?: true
  /** How long its first connections last; it stays at the one after them. */
  readonly leaves: ReadonlyArray<number>
  /** How long it takes to read what has come. */
  readonly readMs: number
}

/** A runner: by its place, or as the owner of a conversation then. */
export type Place = number | { readonly ownerOf: string }

/** What befalls a runner beside its death: it stands still, loses the session with its locks, or does not reach the next runner. */
export interface Trouble {
  readonly when: Moment
  readonly runner: Place
  readonly type: "freezes" | "loses its locks" | "is cut off"
  readonly ms: number
  /** It dies so long after it was frozen, and does not come back. */
  readonly diesAfter?: number
}

/** A death or a stop of a process. */
export interface Death {
  readonly when: Moment
  /** Of several. */
  readonly runner: Place
  readonly isOrderly: boolean
  readonly downMs: number
}

export interface Plan {
  readonly seed: number
  readonly order: Order
  /** The configuration of each life; the last one stays. */
  readonly settings: readonly [Settings, ...Array<Settings>]
  readonly prompts: ReadonlyArray<Prompted>
  readonly commands: ReadonlyArray<Commanded>
  readonly watchers: ReadonlyArray<Watched>
  readonly callers: ReadonlyArray<Called>
  /** Of the calls, in their order; later ones are answered. */
  readonly replies: ReadonlyArray<Reply>
  /** Of commits after the beginning, or after a moment. */
  readonly disk: ReadonlyArray<{ readonly commit: number | Moment; readonly outcome: Outcome }>
  readonly deaths: ReadonlyArray<Death>
  /** Processes that share the conversations; one has them alone. */
  readonly runners: number
  readonly troubles: ReadonlyArray<Trouble>
  /** A statement, or its answer, is so long on its way between a runner and the database, at most; absent: no time. */
  readonly distanceMs?: number
  /** What the night is aimed at, beside what happens by chance. */
  readonly aim?: AimedPlan.Aim
}

/** The plan of a seed. */
export const make = (seed: number): Plan => {
  const one = alone(seed)
  const cluster = Chance.make(seed, "cluster")
  const plan = cluster.isTrue(0.15) ? ClusterPlan.of(one, cluster) : one
  // The names and shares of these leave the nights of mended faults as they were.
  const [crowd, rare] = [Chance.make(seed, "crowd"), Chance.make(seed, "rare")]
  const crowded = crowd.isTrue(0.2) ? inLine(plan, crowd) : plan
  return AimedPlan.of(rare.isTrue(0.35) ? coinciding(crowded, rare) : crowded, Chance.make(seed, "add moment"))
}

/** The last time in a plan, in milliseconds. */
export const lastOf = ({ callers, commands, deaths, prompts, troubles, watchers }: Plan): number =>
  Math.max(
    0,
    ...[...prompts, ...callers].map(({ at }) => at),
    ...[...commands, ...watchers, ...deaths, ...troubles].map(({ when }) => ("at" in when ? when.at : 0))
  )

// --- internal

/** A night of one process. */
const alone = (seed: number): Plan => {
  const chance = Chance.make(seed, "plan")
  const { between, isTrue, of } = chance
  const many = <A>(most: number, draw: (n: number) => A): ReadonlyArray<A> =>
    Array.from({ length: between(0, most) }, (_, n) => draw(n))
  const conversations = Array.from({ length: between(1, 3) }, (_, n) => `c${n}`) as [string, ...Array<string>]
  const span = of([2_000, 30_000, 300_000, 3_600_000])
  const moment = (): number => Math.floor(span * chance.next() ** 2)
  const again = (): number | undefined => (isTrue(0.35) ? of([0, 1, 400, 7_000, 20_000]) : undefined)
  const prompts = Array.from({ length: between(1, 5) }, (_, n): Prompted => ({
    id: `t${n}`,
    isNamed: true,
    conversation: of(conversations),
    at: moment(),
    isSubmitted: isTrue(0.4),
    againAfter: again()
  }))
  /** An endpoint that is down for a while: turns wait, and people act on them. */
  const isOutage = isTrue(0.4)
  const refusals = isOutage ? 0.95 : of([0.1, 0.3, 0.8])
  const replies = many(isOutage ? 14 : of([0, 4, 12, 30]), () =>
    isTrue(refusals) ? refusalOf(chance) : replyOf(chance)
  )
  const callOf = (): number => between(0, Math.min(6, replies.length))
  const when = (): Moment => {
    const call = callOf()
    switch (of(["at", "ms", "tasks", "near", ...(isOutage ? (["near", "near", "ms"] as const) : [])])) {
      case "at":
        return { at: moment() }
      case "tasks":
        return { call, tasks: between(0, of([4, 40])) }
      case "near": // the end of a wait: the turn is read then
        return { call, ms: of([5_000, 10_000, 30_000, 60_000, 120_000]) - between(0, 4_500) }
      default:
        return { call, ms: between(0, of([0, 1, 500, 6_000, 60_000])) }
    }
  }
  const turnOf = (): string | undefined => (isTrue(0.6) ? `t${between(0, prompts.length - 1)}` : undefined)
  const homeOf = (turn: string | undefined): string =>
    prompts.find(({ id }) => id === turn)?.conversation ?? of(conversations)
  const gateway = Chance.make(seed, "gateway")
  const callers = callersOf(gateway, () => Math.floor(span * gateway.next() ** 2))
  const limit = gateway.isTrue(0.15) ? gateway.between(1, 2) : undefined
  const settings = settingsOf(chance, isOutage, limit)
  return {
    seed,
    order: isTrue(0.5) ? "in-order" : "by-chance",
    settings: isTrue(0.3) ? [settings, settingsOf(chance, isOutage, limit)] : [settings],
    prompts,
    commands: [
      ...many(isTrue(0.7) ? 8 : 0, (n): Commanded => {
        const turn = turnOf()
        return {
          id: `k${n}`,
          turn,
          conversation: homeOf(turn),
          when: when(),
          what: whatOf(chance),
          againAfter: again()
        }
      }),
      ...commandsFor(callers, gateway)
    ],
    callers,
    watchers: many(3, (): Watched => {
      const turn = turnOf()
      return {
        turn,
        conversation: homeOf(turn),
        when: when(),
        lasts: many(3, () => between(1, 20_000)),
        latencyMs: between(0, 60),
        readMs: gateway.isTrue(0.3) ? gateway.of([1, 40, 900, 3_000]) : 0
      }
    }),
    replies,
    disk: many(isTrue(0.5) ? 4 : 0, () => ({ commit: between(1, 60), outcome: outcomeOf(chance) })),
    deaths: many(isTrue(0.75) ? 5 : 0, (): Death => ({
      when: when(),
      runner: 0,
      isOrderly: isTrue(0.2),
      downMs: of([0, 10, 3_000, 60_000, 3_600_000])
    })),
    runners: 1,
    troubles: []
  }
}

/** The same with prompts that stand behind others, and people who cancel and edit them. */
const inLine = (plan: Plan, { between, isTrue, of }: Chance.Chance): Plan => {
  const { at: first, conversation } = of(plan.prompts as [Prompted, ...Array<Prompted>])
  const again = (): number | undefined => (isTrue(0.3) ? of([0, 1, 400, 7_000]) : undefined)
  const prompt = (id: string, at: number): Prompted => {
    const isNamed = isTrue(0.6)
    const againAfter = isNamed ? again() : undefined
    return { id: `${isNamed ? "t" : "u"}${id}`, isNamed, conversation, at, isSubmitted: isTrue(0.4), againAfter }
  }
  const prompts = Array.from({ length: between(1, 3) }, (_, n) =>
    prompt(`1${n}`, first + of([0, 1, 60, 2_000, 20_000]))
  )
  const commands = prompts.flatMap(({ at, id }, n): ReadonlyArray<Commanded> => {
    if (isTrue(0.2)) return []
    const when = isTrue(0.6)
      ? { at: at + of([0, 1, 20, 150, 500, 2_500, 9_000, 60_000]) }
      : { call: between(0, 4), ms: between(0, of([0, 2, 500, 3_000])) }
    const what: Commanded["what"] = { type: isTrue(0.85) ? "abort" : "retry-now" }
    const command = { id: `kl${n}`, conversation, turn: id, when, what, againAfter: again(), isOwn: true } as const
    return [isTrue(0.4) ? { ...command, instead: prompt(`2${n}`, of([0, 3, 4_000])) } : command]
  })
  const watched = prompts.filter(({ isNamed }) => isNamed && isTrue(0.4))
  const watchers = watched.map(({ at, id }): Watched => ({
    conversation,
    turn: id,
    when: { at },
    lasts: isTrue(0.5) ? [between(1, 4_000)] : [],
    latencyMs: between(0, 60),
    readMs: 0
  }))
  return {
    ...plan,
    prompts: [...plan.prompts, ...prompts],
    commands: [...plan.commands, ...commands],
    watchers: [...plan.watchers, ...watchers]
  }
}

/** The same with what seldom coincides: short limits, clients of one moment that read at different speeds, a login renewed in a wait. */
const coinciding = (plan: Plan, { between, isTrue, of }: Chance.Chance): Plan => {
  const limits = {
    ...(isTrue(0.5) ? { maxDelay: of(["8 seconds", "1 minute", "10 minutes"]) } : {}),
    ...(isTrue(0.5) ? { budget: { total: of(["20 seconds", "90 seconds"]), clip: isTrue(0.3) } } : {})
  }
  const { conversation, id } = of(plan.prompts as [Prompted, ...Array<Prompted>])
  const call = between(0, 5)
  const isEnd = isTrue(0.5)
  const watchers = Array.from({ length: between(2, 3) }, (): Watched => ({
    conversation,
    turn: isTrue(0.3) ? id : undefined,
    when: isTrue(0.7) ? { call, tasks: between(0, 50), ...(isEnd ? { isEnd } : {}) } : { call, ms: between(0, 1_500) },
    lasts: Array.from({ length: between(0, 3) }, () => between(1, of([20, 3_000]))),
    latencyMs: between(0, 5),
    readMs: isTrue(0.4) ? of([3, 40, 900]) : 0
  }))
  return {
    ...plan,
    settings: plan.settings.map(({ retry, ...settings }) => ({
      ...settings,
      retry: { ...retry, ...(plan.runners === 1 ? limits : {}) }
    })) as [Settings, ...Array<Settings>],
    watchers: [...plan.watchers, ...watchers],
    callers: plan.callers.map((caller) => ({
      ...caller,
      ...(caller.hasSession && caller.hasOwnKey
        ? { leaves: [of([300, 4_000, 25_000]), ...caller.leaves], isRenewing: true as const }
        : {})
    }))
  }
}

const callersOf = ({ between, isTrue, of }: Chance.Chance, moment: () => number): ReadonlyArray<Called> =>
  Array.from({ length: isTrue(0.4) ? between(1, 3) : 0 }, (_, n) => ({
    id: `g${n}`,
    at: moment(),
    agent: of(["claude-cli", "sdk"]),
    hasOwnKey: isTrue(0.6),
    hasSession: isTrue(0.6),
    leaves: Array.from({ length: isTrue(0.5) ? between(1, 3) : 0 }, () => of([1, 300, 4_000, 25_000, 700_000])),
    readMs: isTrue(0.3) ? of([1, 40, 900]) : 0
  }))

const commandsFor = (
  callers: ReadonlyArray<Called>,
  { between, isTrue, of }: Chance.Chance
): ReadonlyArray<Commanded> =>
  callers.flatMap(({ at, hasSession, id }): ReadonlyArray<Commanded> => {
    if (isTrue(0.4)) return []
    const what: Commanded["what"] =
      hasSession && isTrue(0.5)
        ? { type: "by-session", caller: id, command: of(["abort", "retry-now"]) }
        : of<Commanded["what"]>([
            { type: "abort" },
            { type: "retry-now" },
            { type: "wait-until", inMs: of([1, 90_000]) }
          ])
    const when = { at: at + between(0, of([500, 6_000, 60_000])) }
    return [{ id: `k${id}`, turn: id, conversation: "", when, what, againAfter: isTrue(0.3) ? 400 : undefined }]
  })

const settingsOf = (
  { between, isTrue, of }: Chance.Chance,
  isOutage: boolean,
  calls: number | undefined
): Settings => ({
  database: { path: ":memory:" },
  providers: {
    one: {
      type: "openai-compatible",
      baseUrl: "http://one.test/v1",
      apiKeyEnv: isTrue(0.7) ? ["ONE_KEY"] : ["ONE_KEY", "ONE_KEY_2"],
      ...(calls === undefined ? {} : { limits: { calls } })
    },
    two: { type: "openai-compatible", baseUrl: "http://two.test/v1", apiKeyEnv: ["TWO_KEY"] }
  },
  model: "one/m",
  gate: { enabled: isTrue(0.4) },
  ...(isTrue(0.2)
    ? { spend: [{ per: of(["turn", "conversation"] as const), tokens: of([15, 40]), then: "fail" as const }] }
    : {}),
  retry: {
    profile: isOutage ? "overnight" : of(["overnight", "interactive", "cycling"]),
    ...(isTrue(isOutage ? 0.2 : 0.4)
      ? {
          schedule: {
            type: "steps",
            delays: of([
              ["1 second", "6 seconds", "2 minutes"],
              ["0 seconds", "5 seconds"],
              ["5 seconds", "4 seconds", "1 hour"]
            ])
          }
        }
      : {}),
    ...(isTrue(0.2) ? { maxRetries: between(0, 3) } : {}),
    ...(isTrue(0.2) ? { budget: { total: of(["20 seconds", "10 minutes"]), clip: isTrue(0.5) } } : {}),
    ...(isTrue(0.6) ? { midStream: of(["discard", "unseen"]) } : {}),
    ...(isTrue(0.3) ? { routing: { type: "fallback-chain", chains: { default: ["two/x"] } } } : {})
  }
})

const whatOf = ({ between, of }: Chance.Chance): Commanded["what"] => {
  const type = of([
    "abort",
    "retry-now",
    "retry-now",
    "abort-retry",
    "wait-until",
    "extend-budget",
    "switch-target",
    "answer-tool"
  ])
  switch (type) {
    case "wait-until":
      return { type, inMs: of([0, 1, 4_000, 90_000, 7_200_000]) }
    case "extend-budget":
      return { type, byMs: between(1, 3_600_000) }
    case "answer-tool": // of no call that waits
      return { type, toolCallId: "tool-x", approve: true }
    case "switch-target":
      return { type, model: of(["two/x", "one/n"]) }
    default:
      return { type: type as "abort" }
  }
}

const refusalOf = ({ isTrue, of }: Chance.Chance): Reply => ({
  type: "status",
  status: isTrue(0.9) ? of([429, 502, 503, 529, 500, 408]) : of([400, 401, 403, 404]),
  ...(isTrue(0.2) ? { retryAfterS: of([1, 7, 900]) } : {})
})

const replyOf = ({ between, isTrue, of }: Chance.Chance): Reply => {
  const type = of([
    "answer",
    "cut",
    "error-frame",
    "stall",
    "hang",
    "reset",
    "page",
    "tool",
    "tool",
    "tool",
    "half-tool"
  ])
  const words = between(0, 6)
  const paceMs = of([0, 5, 700, 20_000])
  switch (type) {
    case "answer":
      return { type, words: words + 1, paceMs }
    case "tool":
    case "half-tool":
      return {
        type,
        tool: of(TOOLS),
        words,
        paceMs,
        answeredAfter: isTrue(0.7) ? of([1_000, 5_000, 300_000]) : undefined
      }
    case "cut":
    case "error-frame":
    case "stall":
      return { type, words, paceMs }
    default:
      return { type: type as "hang" }
  }
}

const outcomeOf = ({ between, of }: Chance.Chance): Outcome => {
  const type = of(["refused", "unknown", "slow", "dies-before", "dies-after"])
  return type === "slow" ? { type, ms: between(1, 3_000) } : { type: type as "refused" }
}
