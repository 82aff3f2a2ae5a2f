/**
 * Lays out turns for an operator: a table, or a few lines each. Pure.
 *
 * A terminal that is too narrow for the table gets a few lines per turn.
 *
 * No line is wider than the terminal. Ids are never cut, because people copy them.
 */
import { Count, HeldCall } from "@holdfast/wire"
import type { ReportedState, TurnReport } from "../../insight/inspection/TurnReport.ts"
import * as Document from "../../base/text/Document.ts"
import * as DurationText from "../../base/text/DurationText.ts"
import * as Prose from "../../base/text/Prose.ts"
import type { Color } from "../terminal/Terminal.ts"

/** The width of the terminal, the local form of a moment, colours, and the name of the database. */
export interface Display {
  readonly database: string
  /** Whether the turns were chosen by more than that they have not ended. */
  readonly isChosen: boolean
  readonly columns: number
  readonly moment: (epochMs: number) => string
  readonly paint: (color: Color, text: string) => string
}

/** Columns below which a table with whole ids has no room. Above it the turns' other columns decide. */
export const TABLE_COLUMNS = 170

/** The turns, and a summary line. */
export const view = (turns: ReadonlyArray<TurnReport>, surroundings: Display): ReadonlyArray<string> => {
  if (turns.length === 0) {
    const { columns, database, isChosen } = surroundings
    const none = isChosen
      ? `There are no such turns in ${database}.`
      : `No turn waits or runs in ${database}. Those that have ended: holdfast turns --all`
    return Prose.wrap(none, columns, 2)
  }
  const lines = table(turns, surroundings) ?? cards(turns, surroundings)
  return [...lines, "", ...Prose.wrap(sum(turns, surroundings), surroundings.columns, 2)]
}

// --- internal

const COLORS: { readonly [S in ReportedState]: Color } = {
  running: "cyan",
  waiting: "yellow",
  queued: "dim",
  completed: "dim",
  failed: "red",
  aborted: "dim"
}

/** A column: its name, and its text for a turn. An empty column is not printed. */
type Column = readonly [name: string, of: (turn: TurnReport, surroundings: Display) => string]

const ALWAYS = new Set(["STATE", "TURN"])

const COLUMNS: ReadonlyArray<Column> = [
  ["STATE", ({ state }) => state],
  ["CONVERSATION", (turn) => conversationOf(turn)],
  ["TURN", ({ turnId }) => turnId],
  ["RUNNER", ({ runner }) => (runner === null ? "none" : (runner ?? ""))],
  ["RETRY", (turn) => retryOf(turn)],
  ["DUE", (turn, surroundings) => dueOf(turn, surroundings)],
  ["BUDGET LEFT", (turn) => budgetOf(turn)],
  ["TARGET", (turn) => targetOf(turn)],
  ["CALLS", (turn) => (turn.endedAt === undefined ? "" : Count.format(turn.attempts))],
  ["BEGUN", (turn, { moment }) => (turn.endedAt === undefined ? "" : moment(turn.acceptedAt))],
  ["ENDED", ({ endedAt }, { moment }) => (endedAt === undefined ? "" : moment(endedAt))],
  ["WAITED", (turn) => waitedOf(turn)],
  ["TOKENS", (turn) => tokensOf(turn)],
  ["RETRIED BY", ({ retriedBy = "" }) => retriedBy],
  ["AGE", ({ ageMs }) => DurationText.rough(ageMs)]
]

/** The least columns for why and prompt together: below this a few lines per turn are easier to read. */
const LEAST_TEXT = 20

/** The columns of each of them if no terminal limits the width. */
const LONGEST_TEXT = 60

/** The table; `undefined` if it does not fit. */
const table = (turns: ReadonlyArray<TurnReport>, surroundings: Display): ReadonlyArray<string> | undefined => {
  if (surroundings.columns < TABLE_COLUMNS) return undefined
  const columns = COLUMNS.filter(
    ([name, of]) => ALWAYS.has(name) || turns.some((turn) => of(turn, surroundings) !== "")
  )
  const rows = [columns.map(([name]) => name), ...turns.map((turn) => columns.map(([, of]) => of(turn, surroundings)))]
  const fixed = widest(Document.aligned(rows)) + 2 * GAP
  if (fixed + LEAST_TEXT > surroundings.columns) return undefined
  const rest = Number.isFinite(surroundings.columns) ? surroundings.columns - fixed : 2 * LONGEST_TEXT
  const whyWidth = Math.min(widest(["WHY", ...turns.map(whyOf)]), LONGEST_TEXT, Math.ceil(rest / 2))
  const texts = turns.map((turn) => [Prose.clip(whyOf(turn), whyWidth), Prose.clip(promptOf(turn), rest - whyWidth)])
  const lines = Document.aligned(rows.map((row, at) => [...row, ...(texts[at - 1] ?? ["WHY", "PROMPT"])]))
  return lines.map((line, at) => {
    const turn = turns[at - 1]
    return surroundings.paint(turn === undefined ? "bold" : COLORS[turn.state], line)
  })
}

const widest = (texts: ReadonlyArray<string>): number =>
  texts.reduce((width, text) => Math.max(width, Prose.widthOf(text)), 0)

/** The columns between two cells (`Document.aligned`). */
const GAP = 2

const cards = (turns: ReadonlyArray<TurnReport>, surroundings: Display): ReadonlyArray<string> => {
  const { columns, paint } = surroundings
  return turns.flatMap((turn, index) => {
    const facts: ReadonlyArray<readonly [string, string]> = [
      ["runner", turn.runner === null ? "none at the moment" : (turn.runner ?? "")],
      ["due", dueOf(turn, surroundings)],
      ["retry", retryOf(turn)],
      ["why", whyOf(turn)],
      ["budget", budgetOf(turn) === "" ? "" : `${budgetOf(turn)} left`],
      ["target", targetOf(turn)],
      ["ended", endedOf(turn, surroundings)],
      ["tokens", tokensOf(turn)],
      ["age", turn.endedAt === undefined ? DurationText.rough(turn.ageMs) : ""]
    ]
    const head = Prose.clip(`${turn.state}  ${promptOf(turn)}`, columns)
    return [
      ...(index === 0 ? [] : [""]),
      paint(COLORS[turn.state], head),
      `  ${turn.turnId}`,
      ...(conversationOf(turn) === "" ? [] : [`  ${turn.conversationId}`]),
      ...(turn.retriedBy === undefined ? [] : ["  retried by", `  ${turn.retriedBy}`]),
      ...facts
        .filter(([, text]) => text !== "")
        .map(([name, text]) => Prose.clip(`  ${name.padEnd(6)}  ${text}`, columns))
    ]
  })
}

/** Empty for a turn whose conversation has its id, as submitted turns do. */
const conversationOf = ({ conversationId, turnId }: TurnReport): string =>
  conversationId === String(turnId) ? "" : conversationId

/** The target that a turn waits for, or that it ended at. Empty while it runs: it may still change. */
const targetOf = ({ endedAt, model, wait }: TurnReport): string =>
  endedAt === undefined && wait === undefined ? "" : model

const waitedOf = ({ waitedMs }: TurnReport): string =>
  waitedMs === undefined || waitedMs === 0 ? "" : DurationText.rough(waitedMs)

const tokensOf = ({ tokens }: TurnReport): string =>
  tokens === undefined ? "" : `${tokenCount(tokens.input)} in, ${tokenCount(tokens.output)} out`

const tokenCount = (count: number | undefined): string => (count === undefined ? "?" : Count.format(count))

const endedOf = (turn: TurnReport, { moment }: Display): string => {
  if (turn.endedAt === undefined) return ""
  const waited = waitedOf(turn)
  return [
    `${moment(turn.endedAt)}, begun ${moment(turn.acceptedAt)}, ${Count.of(turn.attempts, "call")}`,
    ...(waited === "" ? [] : [`waited ${waited}`])
  ].join(", ")
}

/** People count retries from 1. */
const retryOf = ({ wait }: TurnReport): string => (wait === undefined ? "" : String(wait.retry + 1))

const dueOf = ({ conversationId, wait }: TurnReport, { moment }: Display): string => {
  if (wait === undefined) return ""
  const words = HeldCall.dueWords(conversationId, wait.leftMs)
  if (words !== undefined) return words
  if (wait.asks !== undefined) return `asks until ${moment(wait.retryAt)}`
  return `${moment(wait.retryAt)}, ${wait.leftMs === 0 ? "now" : `in ${DurationText.rough(wait.leftMs)}`}`
}

const budgetOf = ({ budget }: TurnReport): string => {
  if (budget === undefined) return ""
  return budget.leftMs === undefined ? "no limit" : DurationText.rough(budget.leftMs)
}

const whyOf = ({ error, wait }: TurnReport): string => {
  if (wait?.asks !== undefined) return Prose.oneLine(wait.asks.message)
  if (error === undefined) return ""
  return `${error.reason}: ${Prose.coded(error.code, error.message)}`
}

const promptOf = ({ prompt }: TurnReport): string =>
  prompt === undefined ? "(the last prompt again)" : Prose.oneLine(prompt)

const sum = (turns: ReadonlyArray<TurnReport>, { database, moment }: Display): string => {
  const states = Object.keys(COLORS).flatMap((state) => {
    const count = turns.filter((turn) => turn.state === state).length
    return count === 0 ? [] : [`${Count.format(count)} ${state}`]
  })
  const waits = turns.flatMap(({ conversationId, wait }) =>
    wait === undefined || HeldCall.dueWords(conversationId, wait.leftMs) !== undefined ? [] : [wait]
  )
  const next = waits.reduce(
    (first, { asks, retryAt }) => (asks === undefined ? Math.min(first, retryAt) : first),
    Infinity
  )
  const left = turns.filter(({ runner }) => runner === null).length
  const asking = waits.filter(({ asks }) => asks !== undefined).length
  return [
    `${Count.of(turns.length, "turn")} in ${database}: ${states.join(", ")}.`,
    ...(left > 0 ? [`${left} ${left === 1 ? "has" : "have"} no runner at the moment.`] : []),
    ...(Number.isFinite(next) ? [`The next is due at ${moment(next)}.`] : []),
    ...(asking > 0 ? [`${asking} ${asking === 1 ? "waits" : "wait"} for an answer (holdfast explain).`] : [])
  ].join(" ")
}
