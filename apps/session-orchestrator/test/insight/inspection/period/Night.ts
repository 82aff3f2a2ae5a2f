/** The turns of one night: an outage of one endpoint, a revoked key at another one, and a fallback. */
import type { Records } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { GivenRecords } from "@holdfast/kernel/testing"
import { defined, Ids, Target, type TurnEvent, type TurnState } from "@holdfast/wire"
import { Prices } from "@holdfast/policy"
import type { TimeSpan } from "../../../../src/insight/inspection/period/Timeline.ts"
import type { EndpointFact, Why } from "../../../../src/insight/inspection/period/Outages.ts"
import { type Period, PeriodTally } from "../../../../src/insight/inspection/period/PeriodTally.ts"
import type { TargetUse } from "../../../../src/engine/spend/TurnUse.ts"
import type { TurnRow } from "../../../../src/storage/ListPage.ts"

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

/** What a test gives of a turn. */
export interface Given {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  readonly state: TurnState.TurnState["status"]
  readonly acceptedAt: number
  readonly endedAt: number | undefined
  readonly isRetry: boolean
  /** Of its last attempt. */
  readonly target: string
  /** The model before, if the turn changed it: its records have no target until then. */
  readonly changedFrom?: string
  readonly tags: ReadonlyArray<string>
  readonly error: TurnState.TurnError | undefined
  readonly calls: number
  readonly savedCalls: number
  readonly waits: ReadonlyArray<TimeSpan>
  readonly question?: { readonly asks: TurnEvent.Asks; readonly since: number; readonly until: number }
  /** A last attempt has begun to answer, and has no outcome, or has failed. */
  readonly answer?: "cut-short" | "broken-off"
  /** What its attempts found, in their order. */
  readonly endpoints: ReadonlyArray<EndpointFact>
  readonly usage: ReadonlyArray<TargetUse>
}

export const turn = (id: string, given: Partial<Given>): Given => ({
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
  usage: [],
  ...given
})

/** Its row of a list. */
export const rowOf = (given: Given): TurnRow => {
  const { acceptedAt, changedFrom, conversationId, isRetry, state, tags, target, turnId } = given
  return {
    position: { at: acceptedAt, number: 1 },
    turn: { conversationId, turnId, acceptedAt, prompt: isRetry ? undefined : "Go on.", end: endOf(given) },
    model: target,
    changedFrom,
    hasEvents: state !== "queued",
    labels: { tags }
  }
}

/** Adds a turn to a tally, as its row and the history of its records. */
export const add = (tally: PeriodTally, given: Given): void => tally.add(rowOf(given), History.of(recordsOf(given)))

export const used = (target: string, input: number, output: number) => ({
  target,
  tokens: { ...Prices.NO_TOKENS, input, output },
  isUnreported: false
})

export const OVERLOADED: Why = { reason: "overloaded", code: "529" }

/** Twelve turns that waited for the outage to end, two that moved to another model, four with a revoked key, and a turn in its wait. */
export const turns: ReadonlyArray<Given> = [
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

// --- internal

const endOf = (given: Given): TurnRow["turn"]["end"] => {
  const { calls: attempts, conversationId, endedAt, error, state, turnId, usage } = given
  if (endedAt === undefined || state === "waiting" || state === "running" || state === "queued") return undefined
  const total = usage.map(({ tokens }) => tokens).reduce(Prices.add, Prices.NO_TOKENS)
  const isUnreported = usage.some((each) => each.isUnreported)
  return {
    type: "turn-end",
    conversationId,
    turnId,
    status: state,
    endedAt,
    steps: 1,
    attempts,
    sleptMs: 0,
    waitedMs: 0,
    usage: { ...(isUnreported ? undefined : { inputTokens: total.input }), outputTokens: total.output },
    ...defined({ error: error && { ...error, retryable: false } })
  }
}

/** Its records: attempts with what they found, then those that saved a call or used tokens, and the waits. */
const recordsOf = (given: Given) => {
  const { answer, changedFrom, endpoints, question, savedCalls, state, target, usage, waits } = given
  const records: Array<Records.Stored> = []
  let number = 0
  const add = (name: string, value: unknown): void => void records.push({ name, value: JSON.stringify(value) })
  const route = (target: string): void =>
    target === changedFrom ? undefined : add("step/0/route", { route: { target: Target.parse(target) } })
  const fail = (failure: object, more: object = {}): void =>
    add(`step/0/attempt/${number++}`, { ...FAILED, failure: { ...GivenRecords.overloaded, ...failure }, ...more })
  const wait = ({ from, to }: TimeSpan): void => {
    add(`step/0/compaction/${number}`, { _tag: "Nothing", endedAt: from })
    add(`step/0/decision/${number}`, { _tag: "Retry", attempt: 0, delayMs: to - from, retryAt: to })
  }
  route(endpoints[0]?.target ?? usage[0]?.target ?? target)
  add(`step/0/compaction/${number++}`, { _tag: "Nothing", endedAt: 0 })
  for (const { at, target, why } of endpoints) {
    route(target)
    if (why !== undefined) fail({ ...why, status: undefined }, { endedAt: at })
    else
      add(`step/0/compaction/${number++}`, {
        _tag: "Compacted",
        summary: "",
        upTo: GivenRecords.messageId,
        endedAt: at
      })
  }
  for (let i = 0; i < savedCalls; i++) fail({ shared: true })
  for (const { tokens, ...used } of usage) {
    route(used.target)
    fail({ retryable: false }, { usage: { inputTokens: tokens.input, outputTokens: tokens.output } })
  }
  route(target)
  for (const span of waits) {
    wait(span)
    add(`step/0/sleep/${number++}`, { type: "elapsed", at: span.to })
  }
  if (answer !== undefined) add(`step/0/attempt/${number}/content`, true)
  if (answer === "broken-off") fail({}, { contentSeen: true, endedAt: given.endedAt })
  if (state !== "waiting") return records
  wait({ from: question?.since ?? period.until, to: period.until })
  if (question !== undefined)
    add(`step/0/sleep/${number}`, { type: "asked", asks: question.asks, until: question.until })
  return records
}

const FAILED = { _tag: "Failed", content: [], contentSeen: false, spread: 0, endedAt: 0 }

/** The report of turns in a period; of the night, if none is given. */
export const reportOf = (turns: ReadonlyArray<Given>, of: Period = period) => {
  const tally = new PeriodTally(of)
  for (const turn of turns) add(tally, turn)
  return tally.report()
}
