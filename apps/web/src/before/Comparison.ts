/** The figures of dry runs side by side, as rows of a table. Pure. */
import type { DryRunReport } from "@holdfast/wire"
import type { DryRunGroup } from "@holdfast/wire/api"
import * as Durations from "../text/Durations.ts"

/** A dry run and its name. */
export interface Column {
  readonly name: string
  readonly report: DryRunReport.DryRunReport
}

/** A figure of each column. */
export interface Row {
  readonly name: string
  readonly values: ReadonlyArray<string>
}

/** The runs of an answer: the record, the configuration, and the changed settings. */
export const columnsOf = ({ against, replay, report }: DryRunGroup.DryRunAnswer): ReadonlyArray<Column> => [
  ...(replay === undefined ? [] : [{ name: "as it was", report: replay.was }]),
  { name: "as configured", report },
  ...(against === undefined ? [] : [{ name: "as changed", report: against }])
]

/** The rows of a comparison; figures that none of the runs has are left out. */
export const rowsOf = (columns: ReadonlyArray<Column>): ReadonlyArray<Row> =>
  FIGURES.map(([name, valueOf]) => ({ name, values: columns.map(({ report }) => valueOf(report) ?? NONE) })).filter(
    ({ values }) => values.some((value) => value !== NONE)
  )

/** The ends of all runs in one sentence, for people who do not see the table. */
export const sentenceOf = (columns: ReadonlyArray<Column>): string =>
  `${columns
    .map(
      ({ name, report: { answered, failed, turns } }) => `${name}: ${answered} of ${turns} answered, ${failed} failed`
    )
    .join("; ")}.`

/** Why turns failed, a sentence for each cause. */
export const failuresOf = ({ name, report }: Column): ReadonlyArray<string> =>
  report.failures.map(
    ({ because, reason, turns }) =>
      `${name}: ${turns} failed because ${WORDS[because] ?? because}${reason === undefined ? "" : ` (${reason})`}`
  )

// --- internal

const NONE = "–"

type Report = DryRunReport.DryRunReport

const after = (at: number | undefined, { startedAt }: Report): string | undefined =>
  at === undefined ? undefined : Durations.duration(at - startedAt)

const FIGURES: ReadonlyArray<readonly [name: string, valueOf: (report: Report) => string | undefined]> = [
  ["answered", ({ answered, turns }) => `${answered} of ${turns}`],
  ["failed", ({ failed }) => String(failed)],
  ["stopped", ({ aborted = 0 }) => (aborted === 0 ? undefined : String(aborted))],
  ["not ended", ({ waiting }) => (waiting === 0 ? undefined : String(waiting))],
  ["first answer after", (report) => after(report.firstAnswerAt, report)],
  ["last answer after", (report) => after(report.lastAnswerAt, report)],
  ["waited, median", ({ waitedMs }) => Durations.duration(waitedMs.median)],
  ["waited, longest", ({ waitedMs }) => Durations.duration(waitedMs.longest)],
  ["calls", ({ calls }) => String(calls)],
  ["calls that failed", ({ refused }) => String(refused)],
  ["calls saved by the gate", ({ shared }) => (shared === 0 ? undefined : String(shared))],
  ["tokens of output", ({ tokens }) => (tokens === undefined ? undefined : String(tokens.output))],
  ["cost", ({ cost }) => (cost?.usd === undefined ? undefined : `$${cost.usd.toFixed(2)}`)],
  ["ended early by", ({ cut }) => (cut === undefined ? undefined : `the limit of ${cut}`)]
]

const WORDS: Readonly<Record<string, string>> = {
  "after-content": "it failed after content, which is not retried",
  "not-retryable": "the failure does not pass",
  "context-overflow": "the context was too long",
  defect: "a defect came three times",
  "no-strategy": "there are no retries",
  disabled: "retries are off",
  "switched-off": "retries are off",
  "max-retries": "no retries were left",
  "max-delay": "the wait would have exceeded the longest wait",
  budget: "the budget was spent",
  exhausted: "no attempts were left",
  "no-answer": "a question got no answer"
}
