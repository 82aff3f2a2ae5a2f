/** Aims some nights at what seldom coincides: the moments at which a promise is hardest to keep. */
import * as Chance from "./Chance.ts"
import type { Commanded, Moment, Plan, Prompted, Trouble, Watched } from "./Plan.ts"

/** What a night is aimed at. */
export type Aim = (typeof ALONE)[number] | (typeof SHARED)[number] | (typeof LATER)[number]

/** With one process. */
const ALONE = [
  "commands at once",
  "the end of a wait",
  "a prompt in doubt",
  "a refused write",
  "a turn of before",
  "unseen content"
] as const

/** With several runners. */
const SHARED = [
  "an owner in doubt",
  "a stale owner",
  "an abort of two owners",
  "watchers of two owners",
  "unseen content"
] as const

/** With several runners, too. */
const LATER = ["an owner that dies in doubt", "a stale write", "watchers at the end"] as const

/** The same night, aimed at something or at nothing. */
export const of = (plan: Plan, chance: Chance.Chance): Plan => {
  const isShared = plan.runners > 1
  if (!chance.isTrue(isShared ? 0.45 : 0.25)) {
    // The name leaves the nights of mended faults as they were.
    const later = Chance.make(plan.seed, "late aim")
    if (!isShared || !later.isTrue(0.4)) return plan
    const aim = later.of(LATER)
    return { distanceMs: 4, ...AIMED[aim](plan, later), aim }
  }
  const aim = isShared ? chance.of(SHARED) : chance.of(ALONE)
  return { ...(isShared ? { distanceMs: 4 } : {}), ...AIMED[aim](plan, chance), aim }
}

// --- internal

type Aimed = (plan: Plan, chance: Chance.Chance) => Plan

const REFUSED = { type: "status", status: 503 } as const
const ANSWER = { type: "answer", words: 3, paceMs: 700 } as const

/** Turns wait so long after a call that is refused. */
const waiting = (plan: Plan, delay: string): Plan => ({
  ...plan,
  settings: [
    {
      ...plan.settings[0],
      gate: { enabled: false },
      retry: { profile: "overnight", schedule: { type: "steps", delays: [delay] } }
    }
  ],
  replies: [REFUSED, REFUSED, ...plan.replies]
})

const firstOf = ({ prompts }: Plan): Prompted =>
  prompts.reduce((first, prompt) => (prompt.at < first.at ? prompt : first))

const AIMED: Readonly<Record<Aim, Aimed>> = {
  /** A command that three places send at once, or one soon again. */
  "commands at once": (plan, { between, of }) => {
    const command = (n: number): Commanded => ({
      id: `ka${n}`,
      turn: firstOf(plan).id,
      conversation: firstOf(plan).conversation,
      when: { call: of([0, 0, 1]), ms: between(400, 9_000) },
      what: of<Commanded["what"]>([
        { type: "wait-until", inMs: of([2_000, 90_000]) },
        { type: "extend-budget", byMs: 60_000 },
        { type: "retry-now" }
      ]),
      againAfter: of([0, 1, 300]),
      copies: of([1, 2, 3, 4])
    })
    return { ...waiting(plan, of(["4 seconds", "20 seconds"])), commands: [...plan.commands, command(0), command(1)] }
  },

  /** People move the waits of two turns to one moment, and again in that moment. */
  "the end of a wait": (plan, { between, of }) => {
    const first = firstOf(plan)
    const second: Prompted = { ...first, id: "t39", conversation: "c8", isNamed: true }
    const movedAt = first.at + 3_000
    const inMs = of([1_000, 4_000, 9_000, 12_000])
    const command = (id: string, { conversation, id: turn }: Prompted, when: Moment, inMs: number): Commanded => ({
      id,
      turn,
      conversation,
      when,
      what: { type: "wait-until", inMs },
      againAfter: undefined
    })
    const at = { at: movedAt + inMs - 1, tasks: between(1, 5) }
    return {
      ...waiting(plan, "20 seconds"),
      deaths: [],
      prompts: [...plan.prompts, second],
      commands: [
        ...plan.commands,
        command("ka0", first, { at: movedAt }, inMs),
        command("ka1", second, { at: movedAt }, inMs),
        command("ka2", first, at, 90_000),
        command("ka3", second, at, 90_000)
      ]
    }
  },

  /** Prompts behind a turn whose acceptance is stored and reported as failed. */
  "a prompt in doubt": (plan, { between, isTrue, of }) => {
    const { at, conversation } = firstOf(plan)
    const prompt = (n: number): Prompted => ({
      id: `t3${n}`,
      isNamed: true,
      conversation,
      at: at + between(200, 6_000) + n * 3_000,
      isSubmitted: isTrue(0.4),
      againAfter: undefined
    })
    const prompts = [prompt(0), prompt(1)]
    return {
      ...waiting(plan, of(["4 seconds", "20 seconds"])),
      prompts: [...plan.prompts, ...prompts],
      disk: [...plan.disk, ...prompts.map(({ at }) => ({ commit: { at }, outcome: { type: "unknown" } as const }))]
    }
  },

  /** Commits that are refused, or reported so, while turns run. */
  "a refused write": (plan, { between, isTrue, of }) => ({
    ...plan,
    disk: [
      ...plan.disk,
      ...Array.from({ length: 3 }, (_, call) => ({
        commit: isTrue(0.5)
          ? ({ call, tasks: between(0, 40), isEnd: true } as const)
          : ({ call, ms: between(0, 600) } as const),
        outcome: { type: of<"refused" | "unknown">(["refused", "refused", "unknown"]) }
      }))
    ]
  }),

  /** Commands for a turn that has ended, while the next one of its conversation waits. */
  "a turn of before": (plan, { between, of }) => {
    const first = firstOf(plan)
    const command = (id: string, type: "abort" | "retry-now" | "abort-retry", ms: number): Commanded => ({
      id,
      turn: first.id,
      conversation: first.conversation,
      when: { at: first.at + ms },
      what: { type },
      againAfter: undefined
    })
    return {
      ...waiting(plan, "20 seconds"),
      deaths: [],
      prompts: [...plan.prompts, { ...first, id: "t39", at: first.at + between(1, 900) }],
      commands: [
        command("ka0", of(["abort", "abort-retry"]), between(1_000, 3_000)),
        command("ka1", of(["abort", "retry-now", "abort-retry"]), between(4_000, 20_000))
      ]
    }
  },

  /** Answers that break off with content that a client has seen, sees or has not seen. */
  "unseen content": (plan, { between, of }) => {
    const { at, conversation } = firstOf(plan)
    const { settings, ...rest } = waiting(plan, "6 seconds")
    return {
      ...rest,
      settings: [{ ...settings[0], retry: { ...settings[0].retry, midStream: "unseen" } }],
      deaths: [],
      callers: [],
      replies: Array.from({ length: 4 }, () => ({ type: "cut", words: between(1, 4), paceMs: of([5, 700]) })),
      watchers: [
        {
          conversation,
          turn: undefined,
          when: of<Moment>([
            { at },
            { call: 0, ms: between(0, 3_000) },
            { call: 0, ms: between(0, 6), isBreak: true },
            { call: 1, ms: between(0, 40), isBreak: true }
          ]),
          lasts: [],
          latencyMs: 0,
          readMs: 0
        }
      ]
    }
  },

  /** An owner freezes while it accepts a prompt. */
  "an owner in doubt": (plan, { between, of }) => {
    const { at, conversation } = firstOf(plan)
    const freezes = {
      when: { at: at + between(0, 40) },
      runner: { ownerOf: conversation },
      type: "freezes",
      ms: of([14_000, 25_000])
    } as const
    return { ...plan, distanceMs: 40, deaths: [], troubles: [freezes] }
  },

  /** An owner freezes while it accepts a prompt, and dies when it goes on, before or after its answer. */
  "an owner that dies in doubt": (plan, { between, isTrue }) => {
    const first = firstOf(plan)
    const { at, conversation } = first
    const isFatal = isTrue(0.6)
    const freezes: Trouble = {
      when: { at: at + between(1, 3) },
      runner: { ownerOf: conversation },
      type: "freezes",
      ms: 25_000,
      ...(isFatal ? {} : { diesAfter: between(1, 3) })
    }
    const prompt: Prompted = { ...first, againAfter: undefined, ...(isFatal ? { isFatal } : {}) }
    // The next prompt of the conversation would have the turn taken up.
    const others = plan.prompts.filter((prompt) => prompt.conversation !== conversation)
    return { ...plan, runners: 2, prompts: [prompt, ...others], deaths: [], troubles: [freezes] }
  },

  /** An owner freezes while it writes that an answer begins, and another one has begun the same answer, or has ended the turn, when it goes on. */
  "a stale write": (plan, { between, isTrue, of }) => {
    const first = firstOf(plan)
    const { conversation, id } = first
    const distanceMs = of([40, 400])
    const when = { call: 1, ms: between(1, 400 + distanceMs) } as const
    const isAborted = isTrue(0.5)
    const abort: Commanded = {
      id: "ka",
      conversation,
      turn: id,
      when: { ...when, ms: when.ms + between(14_000, 24_000) },
      what: { type: "abort" },
      againAfter: undefined
    }
    return {
      ...waiting(plan, "4 seconds"),
      distanceMs,
      prompts: [{ ...first, againAfter: undefined }],
      commands: isAborted ? [abort] : [],
      replies: [REFUSED, ANSWER, isAborted ? { type: "hang" } : ANSWER],
      deaths: [],
      troubles: [{ when, runner: { ownerOf: conversation }, type: "freezes", ms: 25_000 }]
    }
  },

  /** Clients come while the message of an answer is on its way to the disk and back. */
  "watchers at the end": (plan, { between }) => {
    const first = firstOf(plan)
    const watchers = Array.from({ length: 5 }, (): Watched => ({
      conversation: first.conversation,
      turn: undefined,
      when: { call: 0, ms: between(0, 500) },
      lasts: [],
      latencyMs: 0,
      readMs: 0
    }))
    return {
      ...plan,
      distanceMs: 40,
      prompts: [first],
      commands: [],
      watchers,
      replies: [{ ...ANSWER, paceMs: 5 }],
      deaths: [],
      troubles: []
    }
  },

  /** A runner that has lost its locks, and has not learned it, has turns whose time comes. */
  "a stale owner": (plan, { between, isTrue, of }) => {
    const owner = { ownerOf: firstOf(plan).conversation }
    const [cutAt, frozenMs] = [-between(100, 2_500), of([10_500, 11_000, 12_000])]
    return {
      ...waiting(plan, "20 seconds"),
      deaths: [],
      troubles: isTrue(0.5)
        ? [{ when: { call: 0, ms: cutAt, isWait: true }, runner: owner, type: "loses its locks", ms: 0 }]
        : [
            {
              when: { call: 0, ms: between(0, 900) - frozenMs, isWait: true },
              runner: owner,
              type: "freezes",
              ms: frozenMs
            }
          ]
    }
  },

  /** The owner ends while it answers an abort, and other turns stand behind. */
  "an abort of two owners": (plan, { between, of }) => {
    const { at, conversation } = firstOf(plan)
    const prompts = Array.from({ length: 3 }, (_, n): Prompted => ({
      id: `t3${n}`,
      isNamed: true,
      conversation,
      at: at + n,
      isSubmitted: false,
      againAfter: undefined
    }))
    const abortAt = at + between(200, 5_000)
    return {
      ...waiting(plan, "20 seconds"),
      prompts: [...plan.prompts, ...prompts],
      commands: [
        {
          id: "ka",
          conversation,
          turn: undefined,
          when: { at: abortAt },
          what: { type: "abort" },
          againAfter: undefined
        }
      ],
      deaths: [
        {
          when: { at: abortAt + between(2, 18) },
          runner: { ownerOf: conversation },
          isOrderly: false,
          downMs: of([0, 60_000])
        }
      ]
    }
  },

  /** The owner ends, and clients come to the turns that the next one has taken over. */
  "watchers of two owners": (plan, { between, isTrue, of }) => {
    const { conversation, id } = firstOf(plan)
    const when = (): Moment => {
      const call = between(1, 4)
      return isTrue(0.5)
        ? { call, tasks: between(0, 60), ...(isTrue(0.6) ? { isEnd: true } : {}) }
        : { call, ms: between(0, of([8, 600])) }
    }
    const watchers = Array.from({ length: 4 }, (): Watched => ({
      conversation,
      turn: isTrue(0.3) ? id : undefined,
      when: when(),
      lasts: isTrue(0.5) ? [between(1, 300), between(1, 300)] : [],
      latencyMs: between(0, 3),
      readMs: 0
    }))
    return {
      ...plan,
      watchers: [...plan.watchers, ...watchers],
      deaths: [
        {
          when: { call: 0, ms: between(0, 3_000) },
          runner: { ownerOf: conversation },
          isOrderly: isTrue(0.5),
          downMs: of([0, 3_000])
        },
        ...plan.deaths
      ]
    }
  }
}
