/**
 * The figures of dry runs side by side, and why turns failed, in words (X10). Pure.
 *
 * It imports no schema, so that a page does not load any.
 */
import * as Count from "./values/Count.ts"
import type { DryRunCost, DryRunFailure, DryRunReport } from "./DryRunReport.ts"

/** How a reader writes its values. */
export interface Notation {
  readonly duration: (ms: number) => string
  /** US dollars. */
  readonly money: (usd: number) => string
}

/** A figure of each run; `undefined`: the run has none. */
export interface Row {
  readonly name: string
  readonly values: ReadonlyArray<string | undefined>
}

/** The rows of a comparison; figures that none of the runs has are left out. */
export const rowsOf = (reports: ReadonlyArray<DryRunReport>, notation: Notation): ReadonlyArray<Row> =>
  [...figuresOf(notation), ...endpointsOf(reports)]
    .map(([name, valueOf]) => ({ name, values: reports.map(valueOf) }))
    .filter(({ values }) => values.some((value) => value !== undefined))

/** Why a turn failed, as a clause behind "because". */
export const because = ({ because, reason }: Pick<DryRunFailure, "because" | "reason">): string => {
  const words = WORDS[because] ?? because
  return reason === undefined ? words : `${words} (${reason})`
}

/** The sentence about a limit that ended a run before its turns; `undefined`: none did. A run that was cut by time has its turns as "still waiting". */
export const cutOf = (reports: ReadonlyArray<DryRunReport>): string | undefined =>
  reports.some(({ cut }) => cut === "calls")
    ? "The run was ended after the most calls that it makes: what came later is not in these figures."
    : undefined

// --- internal

/** By `TurnExplanation.GaveUpBecause`, and `no-answer`, which no policy decides. */
const WORDS: Readonly<Record<string, string>> = {
  "after-content": "it failed after content, which is not retried",
  "not-retryable": "the failure does not pass",
  "context-overflow": "the context was too long",
  defect: "a defect came three times",
  "no-strategy": "there are no retries",
  disabled: "retries are off",
  "switched-off": "retries are off",
  "max-retries": "no retries were left",
  "max-delay": "the wait would have been longer than maxDelay",
  budget: "the budget was spent",
  exhausted: "no attempts were left",
  "no-answer": "a question got no answer"
}

type Figure = readonly [name: string, valueOf: (report: DryRunReport) => string | undefined]

const figuresOf = ({ duration, money }: Notation): ReadonlyArray<Figure> => {
  const after = ({ startedAt }: DryRunReport, at: number | undefined): string | undefined =>
    at === undefined ? undefined : duration(at - startedAt)
  return [
    ["answered", ({ answered, turns }) => `${Count.format(answered)} of ${Count.format(turns)}`],
    ["failed", ({ failed }) => Count.format(failed)],
    ["aborted", ({ aborted }) => (aborted === undefined ? undefined : Count.format(aborted))],
    [
      "still waiting",
      (report) =>
        report.waiting === 0 ? undefined : `${Count.format(report.waiting)} after ${after(report, report.endedAt)}`
    ],
    ["first answer after", (report) => after(report, report.firstAnswerAt)],
    ["last answer after", (report) => after(report, report.lastAnswerAt)],
    ["waited, median", ({ waitedMs }) => duration(waitedMs.median)],
    ["waited, longest", ({ waitedMs }) => duration(waitedMs.longest)],
    ["calls", ({ calls }) => Count.format(calls)],
    ["calls that failed", ({ refused }) => Count.format(refused)],
    ["calls that the gate saved", ({ shared }) => (shared === 0 ? undefined : Count.format(shared))],
    ["tokens in", ({ tokens }) => tokens && partly(Count.format(tokens.input), tokens.unknown)],
    ["tokens out", ({ tokens }) => tokens && partly(Count.format(tokens.output), tokens.unknown)],
    ["cost", ({ cost }) => cost && costOf(cost, money)]
  ]
}

const endpointsOf = (reports: ReadonlyArray<DryRunReport>): ReadonlyArray<Figure> =>
  Array.from(new Set(reports.flatMap(({ endpoints }) => endpoints.map(({ target }) => target))), (target) => [
    target,
    ({ endpoints }) => {
      const endpoint = endpoints.find((endpoint) => endpoint.target === target)
      return endpoint && `${Count.of(endpoint.calls, "call")}, ${Count.format(endpoint.answered)} answered`
    }
  ])

const costOf = ({ unknown, usd }: DryRunCost, money: Notation["money"]): string =>
  usd === undefined ? "unknown" : partly(money(usd), unknown)

const partly = (known: string, unknown: number): string =>
  unknown === 0 ? known : `${known}, and unknown for ${Count.format(unknown)}`
