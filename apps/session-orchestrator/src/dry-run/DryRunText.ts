/** Writes the accounts of dry runs as a table, a column for each configuration. Pure. */
import type { DryRunReport } from "@holdfast/wire"
import * as PeriodText from "../inspection/period/PeriodText.ts"
import * as Columns from "../text/Columns.ts"
import * as DurationText from "../text/DurationText.ts"

/** One account and the name of its column. */
export interface Column {
  readonly name: string
  readonly report: DryRunReport.DryRunReport
}

/** The table, without its head where there is only one column. */
export const table = (columns: ReadonlyArray<Column>): ReadonlyArray<string> => {
  const rows: Array<ReadonlyArray<string>> = columns.length > 1 ? [["", ...columns.map(({ name }) => name)]] : []
  const add = (label: string, cell: (report: DryRunReport.DryRunReport) => string | undefined): void => {
    const cells = columns.map(({ report }) => cell(report))
    if (cells.some((cell) => cell !== undefined)) rows.push([label, ...cells.map((cell) => cell ?? "-")])
  }
  add("answered", ({ answered, turns }) => `${count(answered)} of ${count(turns)}`)
  add("failed", ({ failed }) => count(failed))
  add("aborted", ({ aborted }) => (aborted === undefined ? undefined : count(aborted)))
  add("still waiting", ({ endedAt, startedAt, waiting }) =>
    waiting === 0 ? undefined : `${count(waiting)} after ${after(endedAt - startedAt)}`
  )
  add("first answer after", (report) => sinceStart(report, report.firstAnswerAt))
  add("last answer after", (report) => sinceStart(report, report.lastAnswerAt))
  add("waited, median", ({ waitedMs }) => after(waitedMs.median))
  add("waited, longest", ({ waitedMs }) => after(waitedMs.longest))
  add("calls", ({ calls }) => count(calls))
  add("calls that failed", ({ refused }) => count(refused))
  add("calls that the gate saved", ({ shared }) => (shared === 0 ? undefined : count(shared)))
  add("tokens in", ({ tokens }) => tokens && tokensText(tokens.input, tokens.unknown))
  add("tokens out", ({ tokens }) => tokens && tokensText(tokens.output, tokens.unknown))
  add("cost", ({ cost }) => cost && costText(cost))
  for (const target of new Set(columns.flatMap(({ report }) => report.endpoints.map(({ target }) => target)))) {
    add(target, ({ endpoints }) => {
      const endpoint = endpoints.find((endpoint) => endpoint.target === target)
      return endpoint && `${counted(endpoint.calls, "call")}, ${count(endpoint.answered)} answered`
    })
  }
  return [...Columns.aligned(rows), ...failures(columns), ...cuts(columns)]
}

/** Why a turn failed, in words. */
export const because = ({ because, reason }: Pick<DryRunReport.DryRunFailure, "because" | "reason">): string => {
  const words = WORDS[because] ?? because
  return reason === undefined ? words : `${words} (${reason})`
}

/** A number of things, such as `1 turn` and `1,000 turns`. */
export const counted = (n: number, one: string): string => `${count(n)} ${n === 1 ? one : `${one}s`}`

// --- internal

/** By `TurnExplanation.GaveUpBecause`; a question without an answer has no decision. */
const WORDS: { readonly [because: string]: string } = {
  "after-content": "it failed after content, which is not retried",
  "not-retryable": "the failure does not pass",
  "context-overflow": "the context was too long",
  defect: "a defect came three times",
  "no-strategy": "there are no retries",
  disabled: "retries are off",
  "switched-off": "retries are off",
  "max-retries": "no retries were left",
  "max-delay": "the wait would have exceeded maxDelay",
  budget: "the budget was spent",
  exhausted: "no attempts were left",
  "no-answer": "a question got no answer"
}

const count = (n: number): string => n.toLocaleString("en-US")

const after = (ms: number): string => DurationText.format(ms < 60_000 ? ms : Math.round(ms / 1000) * 1000)

const sinceStart = ({ startedAt }: DryRunReport.DryRunReport, at: number | undefined): string | undefined =>
  at === undefined ? undefined : after(at - startedAt)

const tokensText = (tokens: number, unknown: number): string =>
  unknown === 0 ? count(tokens) : `${count(tokens)}, and unknown for ${count(unknown)}`

const costText = ({ unknown, usd }: DryRunReport.DryRunCost): string => {
  if (usd === undefined) return "unknown"
  const known = PeriodText.money(usd)
  return unknown === 0 ? known : `${known}, and unknown for ${count(unknown)}`
}

const failures = (columns: ReadonlyArray<Column>): ReadonlyArray<string> =>
  columns.flatMap(({ name, report: { failures } }) => {
    if (failures.length === 0) return []
    const where = columns.length > 1 ? `, ${name}` : ""
    return [
      "",
      `Failed${where}:`,
      ...failures.map((failure) => `  ${count(failure.turns)} because ${because(failure)}`)
    ]
  })

const cuts = (columns: ReadonlyArray<Column>): ReadonlyArray<string> =>
  columns.some(({ report }) => report.cut === "calls")
    ? ["", "The run was ended after the most calls that it makes: what came later is not in these figures."]
    : []
