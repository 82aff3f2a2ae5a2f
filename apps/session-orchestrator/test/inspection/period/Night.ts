/** The turns of one night, as facts: an outage of one endpoint, a revoked key at another one, and a fallback. */
import { Ids } from "@holdfast/wire"
import { Prices } from "@holdfast/policy"
import type { Period } from "../../../src/inspection/period/PeriodTally.ts"
import type { TurnFacts, Why } from "../../../src/inspection/period/TurnFacts.ts"

export const CLAUDE = "anthropic/claude-sonnet-4-5"
export const GPT = "openai/gpt-5"

/** A moment of the night from 2031-04-01 to 04-02 in Berlin, which is two hours ahead of UTC. */
export const at = (time: string): number =>
  Date.parse(`2031-04-0${Number(time.slice(0, 2)) >= 12 ? 1 : 2}T${time.length === 5 ? `${time}:00` : time}+02:00`)

export const period: Period = {
  since: at("22:00"),
  until: at("07:00"),
  timeZone: "Europe/Berlin",
  prices: {},
  keyVariables: (provider) => (provider === "openai" ? ["OPENAI_API_KEY"] : []),
  redact: (text) => text.replaceAll("sk-secret", "[redacted]")
}

export const turn = (id: string, facts: Partial<TurnFacts>): TurnFacts => ({
  turnId: Ids.TurnId.make(id),
  conversationId: Ids.ConversationId.make(`c-${id}`),
  state: "completed",
  acceptedAt: period.since,
  endedAt: period.since,
  isRetry: false,
  target: CLAUDE,
  tags: [],
  error: undefined,
  calls: 1,
  savedCalls: 0,
  waits: [],
  endpoints: [],
  switches: [],
  usage: [],
  isForgotten: false,
  ...facts
})

export const used = (target: string, input: number, output: number) => ({
  target,
  tokens: { ...Prices.NO_TOKENS, input, output },
  isUnreported: false
})

const OVERLOADED: Why = { reason: "overloaded", code: "529" }

/** Twelve turns that waited for the outage to end, two that moved to another model, four with a revoked key, and a turn in its wait. */
export const turns: ReadonlyArray<TurnFacts> = [
  ...Array.from({ length: 12 }, (_, n) =>
    turn(`waited-${n}`, {
      acceptedAt: at("00:00"),
      endedAt: at("06:52") + n * 20_000,
      tags: n < 6 ? ["nightly"] : [],
      calls: n < 2 ? 14 : 2,
      savedCalls: n < 2 ? 0 : 12,
      waits: [{ from: at("00:10") + n * 1_000, to: at("06:51:30") }],
      endpoints: [
        { target: CLAUDE, at: at("00:10") + n * 1_000, why: OVERLOADED },
        ...(n < 2 ? [{ target: CLAUDE, at: at("06:21") + n * 60_000, why: OVERLOADED }] : []),
        { target: CLAUDE, at: at("06:52") + n * 20_000 }
      ],
      usage: [used(CLAUDE, 3_000, 700)]
    })
  ),
  ...Array.from({ length: 2 }, (_, n) =>
    turn(`moved-${n}`, {
      endedAt: at("00:20"),
      target: GPT,
      calls: 2,
      endpoints: [
        { target: CLAUDE, at: at("00:15"), why: OVERLOADED },
        { target: GPT, at: at("00:20") }
      ],
      switches: [{ from: CLAUDE, to: GPT }],
      usage: [used(GPT, 2_000, 500)]
    })
  ),
  ...Array.from({ length: 4 }, (_, n) =>
    turn(`refused-${n}`, {
      state: "failed",
      endedAt: at("23:10") + n * 60_000,
      target: GPT,
      error: { reason: "auth", code: "401", message: `Incorrect API key provided: sk-secret${n === 3 ? "!" : ""}` }
    })
  ),
  turn("long", {
    state: "failed",
    endedAt: at("02:00"),
    target: "local/tiny",
    error: { reason: "context-overflow", message: "This model's maximum context length is 8192 tokens." }
  }),
  turn("open", {
    state: "waiting",
    endedAt: undefined,
    target: "local/tiny",
    waits: [{ from: at("06:30"), to: at("07:00") }],
    endpoints: [{ target: "local/tiny", at: at("06:30"), why: { reason: "network", code: "ECONNREFUSED" } }]
  })
]
