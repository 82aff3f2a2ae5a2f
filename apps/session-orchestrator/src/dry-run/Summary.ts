/** Sums up the courses of turns: how many were answered, when, after how many calls, and why the others were not. */
import { Prices } from "@holdfast/policy"
import { defined, type DryRunReport } from "@holdfast/wire"
import type { Result } from "./DryRun.ts"
import type { TurnCourse } from "./TurnCourse.ts"
import * as SpendSums from "../spend/limits/SpendSums.ts"

/** The account of a dry run. `prices` are the configured ones. */
export const of = ({ cut, endAt, startAt, turns }: Result, prices: Prices.Prices = {}): DryRunReport.DryRunReport => {
  const answers = turns.flatMap(({ end }) => (end?.status === "completed" ? [end.at] : [])).sort(ascending)
  const waits = turns.map(waitedMs).sort(ascending)
  const outcomes = { answered: 0, failed: 0, shared: 0 }
  for (const { calls } of turns) for (const { outcome } of calls) outcomes[outcome]++
  const countOf = (status: NonNullable<TurnCourse["end"]>["status"]) =>
    turns.filter(({ end }) => end?.status === status).length
  const aborted = countOf("aborted")
  return {
    startedAt: startAt,
    endedAt: endAt,
    turns: turns.length,
    answered: answers.length,
    failed: countOf("failed"),
    waiting: turns.filter(({ end }) => end === undefined).length,
    waitedMs: {
      median: waits[Math.floor((waits.length - 1) / 2)] ?? 0,
      longest: waits.at(-1) ?? 0,
      total: waits.reduce((sum, ms) => sum + ms, 0)
    },
    calls: outcomes.answered + outcomes.failed,
    refused: outcomes.failed,
    shared: outcomes.shared,
    failures: failuresOf(turns),
    endpoints: endpointsOf(turns),
    ...spentOf(turns, prices),
    ...defined({
      aborted: aborted === 0 ? undefined : aborted,
      firstAnswerAt: answers[0],
      lastAnswerAt: answers.at(-1),
      cut
    })
  }
}

/** The time that a turn spent in waits. */
export const waitedMs = ({ waits }: TurnCourse): number =>
  waits.reduce((sum, { endedAt, from }) => sum + Math.max(0, endedAt - from), 0)

// --- internal

const ascending = (a: number, b: number): number => a - b

const failuresOf = (turns: ReadonlyArray<TurnCourse>): DryRunReport.DryRunReport["failures"] => {
  const counts = new Map<string, DryRunReport.DryRunFailure>()
  for (const { end } of turns) {
    if (end?.status !== "failed") continue
    const { because = "unknown", reason } = end
    const key = `${because} ${reason}`
    counts.set(key, { because, ...defined({ reason }), turns: (counts.get(key)?.turns ?? 0) + 1 })
  }
  return Array.from(counts.values()).sort((a, b) => b.turns - a.turns)
}

const endpointsOf = (turns: ReadonlyArray<TurnCourse>): DryRunReport.DryRunReport["endpoints"] => {
  const endpoints = new Map<string, { target: string; calls: number; answered: number; failed: number }>()
  for (const { calls } of turns) {
    for (const { outcome, target } of calls) {
      if (outcome === "shared") continue
      const endpoint = endpoints.get(target) ?? { target, calls: 0, answered: 0, failed: 0 }
      endpoints.set(target, endpoint)
      endpoint.calls++
      endpoint[outcome]++
    }
  }
  return Array.from(endpoints.values())
}

/** The tokens and the money of answers. Absent: the courses have no tokens. */
const spentOf = (
  turns: ReadonlyArray<TurnCourse>,
  prices: Prices.Prices
): Pick<DryRunReport.DryRunReport, "tokens" | "cost"> => {
  const answers = turns.flatMap(({ calls }) => calls.filter(({ outcome }) => outcome === "answered"))
  const counted = answers.filter(({ usage }) => usage?.inputTokens !== undefined || usage?.outputTokens !== undefined)
  if (counted.length === 0) return {}
  const byTarget = new Map<string, Prices.Tokens>()
  for (const { target, usage = {} } of counted)
    byTarget.set(target, Prices.add(byTarget.get(target) ?? Prices.NO_TOKENS, SpendSums.tokensOf(usage)))
  let usd: number | undefined
  let unknown = answers.length - counted.length
  for (const [target, tokens] of byTarget) {
    const price = Prices.find(prices, target)
    if (price === undefined) unknown += counted.filter((call) => call.target === target).length
    else usd = (usd ?? 0) + Prices.costOf(price, tokens)
  }
  const sums = Array.from(byTarget.values()).reduce(Prices.add)
  return {
    tokens: { input: sums.input, output: sums.output, unknown: answers.length - counted.length },
    cost: { ...defined({ usd }), unknown }
  }
}
