/** Compares the report of a night with what its providers saw. */
import { assert } from "@effect/vitest"
import type { PeriodReport } from "@holdfast/wire"
import * as DatabaseReads from "./DatabaseReads.ts"
import type { Call, Model, NightProviders } from "./NightProviders.ts"

/** The models as the configuration names them. */
export const TARGETS: Readonly<Record<Model, string>> = {
  large: "north/large",
  medium: "south/medium",
  small: "spare/small",
  review: "team/review"
}

/** US dollars per million tokens. */
export const PRICES = {
  [TARGETS.large]: { input: 3, output: 15 },
  [TARGETS.medium]: { input: 1, output: 5 },
  [TARGETS.small]: { input: 0.5, output: 2 }
}

/** What the test knows of a night, beside the calls. */
export interface Seen {
  readonly night: NightProviders
  readonly since: number
  /** When the first outage began. */
  readonly darkAt: number
  readonly database: string
}

/** Every figure of the report, from the calls. */
export const assertSeen = (report: PeriodReport.PeriodReport, seen: Seen): void => {
  const { night } = seen
  const promptsOf = (calls: ReadonlyArray<Call>) => new Set(calls.map(({ prompt }) => prompt))
  const answered = night.calls.filter(({ status }) => status === 200)
  const refused = [...night.of("large", 529), ...night.of("medium", 429)]
  assert.strictEqual(promptsOf(answered).size, answered.length, "an answer was paid for twice")

  const { aborted, ...turns } = report.turns
  const failed = promptsOf(night.of("review", 401)).size
  const none = { retried: 0, waiting: 0, running: 0, queued: 0 }
  assert.deepStrictEqual({ aborted, ...turns }, { answered: answered.length, failed, aborted: 0, ...none })
  // The call that was cut had no end: its attempt was made again, and counts then.
  assert.strictEqual(report.calls, night.calls.length - 1)
  assert.strictEqual(report.savedCalls, retriesOf(seen) - refused.length)

  const moved = promptsOf(night.of("small"))
  assert.deepStrictEqual(report.switches, [{ from: TARGETS.large, to: TARGETS.small, count: moved.size }])
  assertWaits(
    report,
    seen,
    Array.from(promptsOf(refused)).filter((prompt) => !moved.has(prompt))
  )
  assertOutages(report, seen)
  assertFailures(report, seen)
  assertSpend(report, seen)
  assert.strictEqual(report.forgotten, 0)
}

/** A printed report without what differs from night to night: times, and how many turns could share a failed call. */
export const timeless = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2}Z)?/g, "DATE")
    .replaceAll(/\b\d{2}:\d{2}\b/g, "TIME")
    .replaceAll(/\b\d+ [hms]\b(?: \d+ [ms]\b)?/g, "LENGTH")
    .replaceAll("LENGTH at TIME", "TIME-TIME") // within one minute
    .replace(/(calls saved by the gate +)\d+/, "$1COUNT")
    .replaceAll(/ +/g, " ")

// --- internal

/** Decisions to try again: each follows a call of the turn's own, or another turn's. */
const retriesOf = ({ database, night }: Seen): number =>
  sum(Array.from(new Set(night.calls.map(({ prompt }) => prompt)), (id) => DatabaseReads.waitsOf(database, id).length))

/** All waits lie between dusk and the last call; each turn of `medium` waited for the reset. */
const assertWaits = (
  report: PeriodReport.PeriodReport,
  { darkAt, night }: Seen,
  waited: ReadonlyArray<string>
): void => {
  const lastOf = (prompt: string) => Math.max(...night.callsOf(prompt).map(({ at }) => at))
  const longest = waited.map((prompt) => lastOf(prompt) - darkAt)
  const shortest = night.of("medium", 429).map(({ waitMs = 0 }) => waitMs)
  assert.strictEqual(report.waited, waited.length)
  assertWithin(report.waitedMs, Math.max(...shortest), Math.max(...longest))
  assertWithin(report.turnWaitedMs, sum(shortest), sum(longest))
}

const assertOutages = ({ outages, until }: PeriodReport.PeriodReport, { darkAt, night }: Seen): void => {
  const [large, medium, ...others] = outages
  if (large === undefined || medium === undefined) return assert.fail("an outage is missing")
  assert.deepStrictEqual(others, [])
  const retries = night.of("large").filter(({ at }) => at >= darkAt)
  const back = retries.find(({ status }) => status === 200)
  assert.deepInclude(large, { target: TARGETS.large, reason: "overloaded", failures: night.of("large", 529).length })
  assertWithin(large.beganAt, darkAt, retries[0]?.at)
  assertWithin(large.endedAt, back?.at, retries.at(-1)?.at)
  // Calls overlap: the last refusal may be received after the call that is answered has begun.
  assertWithin(large.lastFailureAt, retries.findLast(({ status }) => status === 529)?.at, until)

  const refused = night.of("medium", 429)
  assert.deepInclude(medium, { target: TARGETS.medium, reason: "quota-exhausted", failures: refused.length })
  assertWithin(medium.beganAt, retries[0]?.at, medium.endedAt)
  assertWithin(medium.endedAt, night.resetAt, until)
  // Their turns called once more, and not before the reset.
  const again = night.of("medium").filter(({ at }) => at >= darkAt)
  assert.strictEqual(again.length, refused.length)
  assertWithin(again[0]?.at, night.resetAt, until)
}

const assertFailures = (report: PeriodReport.PeriodReport, { night, since }: Seen): void => {
  const [cause] = report.causes
  assert.strictEqual(report.causes.length, 1)
  assert.deepInclude(cause, {
    target: TARGETS.review,
    reason: "auth",
    code: "401",
    failed: night.of("review", 401).length,
    retried: 0
  })
  assertWithin(cause?.firstAt, since, cause?.lastAt)
  assertWithin(cause?.lastAt, night.of("review").at(-1)?.at, report.until)
}

const assertSpend = (report: PeriodReport.PeriodReport, { night }: Seen): void => {
  const spendOf = (calls: ReadonlyArray<Call>) => ({
    turns: calls.length,
    inputTokens: calls.length, // one each
    outputTokens: sum(calls.map(({ outputTokens = 0 }) => outputTokens))
  })
  const models = (["large", "medium", "small"] as const).map((model) => {
    const price = PRICES[TARGETS[model]] ?? assert.fail("no price")
    const spend = spendOf(night.of(model, 200))
    const cost = (spend.inputTokens * price.input + spend.outputTokens * price.output) / 1e6
    return { name: TARGETS[model], ...spend, cost }
  })
  const shown = ({ cost, inputTokens, outputTokens, turns }: PeriodReport.Spend) => ({
    turns,
    inputTokens,
    outputTokens,
    cost: typeof cost === "number" ? Math.round(cost * 1e9) : cost
  })
  const rounded = <A extends { readonly cost: number }>(spend: A) => ({ ...spend, cost: Math.round(spend.cost * 1e9) })
  assert.deepStrictEqual(
    report.models.map((model) => ({ name: model.name, ...shown(model) })),
    models.map(rounded)
  )
  const all = spendOf(night.calls.filter(({ status }) => status === 200))
  assert.deepStrictEqual(shown(report.spend), rounded({ ...all, cost: sum(models.map(({ cost }) => cost)) }))
  assert.deepStrictEqual(
    report.tags.map((tag) => [tag.name, tag.turns, tag.outputTokens]),
    [["nightly", ...nightly(night)]]
  )
}

/** The turns with a tag are those of `large` that were not moved. */
const nightly = (night: NightProviders): ReadonlyArray<number> => {
  const calls = night.of("large", 200)
  return [calls.length, sum(calls.map(({ outputTokens = 0 }) => outputTokens))]
}

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, number) => sum + number, 0)

const assertWithin = (value = Number.NaN, least = Number.NaN, most = Number.NaN): void => {
  assert.isAtLeast(value, least)
  assert.isAtMost(value, most)
}
