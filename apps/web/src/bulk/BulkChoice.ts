/** The commands that fit the turns on the screen, and their words. Pure. */
import { Count, type TurnState } from "@holdfast/wire"
import type { BulkCommands } from "@holdfast/wire/api"

/** The part of a turn that decides which commands fit. */
export type ChosenTurn = Pick<TurnState.TurnSummary, "turnId" | "conversationId" | "status" | "model">

/** A command for many turns. */
export type Verb = "retry" | "abort-retry" | "switch-target"

/** The verbs, in the order of their buttons. */
export const VERBS: ReadonlyArray<Verb> = ["retry", "abort-retry", "switch-target"]

/** The turns that a command is for. */
export interface BulkChoice {
  readonly verb: Verb
  readonly turns: ReadonlyArray<ChosenTurn>
}

/**
 * The commands that fit some of the turns, newest turn first.
 *
 * Only the newest turn of a conversation is retried, as in the service: the model would answer another prompt otherwise.
 */
export const choicesOf = (turns: ReadonlyArray<ChosenTurn>): ReadonlyArray<BulkChoice> => {
  const seen = new Set<string>()
  const newest = turns.filter(({ conversationId }) => !seen.has(conversationId) && seen.add(conversationId))
  const waiting = turns.filter(({ status }) => status === "waiting")
  return VERBS.map((verb) => ({
    verb,
    turns: verb === "retry" ? newest.filter(({ status }) => status === "failed") : waiting
  })).filter(({ turns }) => turns.length > 0)
}

/** The endpoints of turns with the number of turns of each, most turns first. */
export const endpointsOf = (
  turns: ReadonlyArray<ChosenTurn>
): ReadonlyArray<readonly [model: string, count: number]> => {
  const counts = new Map<string, number>()
  for (const { model } of turns) counts.set(model, (counts.get(model) ?? 0) + 1)
  return [...counts].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
}

/** The words of a button. */
export const buttonOf = ({ turns, verb }: BulkChoice): string => {
  switch (verb) {
    case "retry":
      return `Retry ${turns.length} failed …`
    case "abort-retry":
      return `Give up ${turns.length} waiting …`
    case "switch-target":
      return `Switch ${turns.length} waiting …`
    default:
      return verb satisfies never
  }
}

/** The question of a confirmation: the command, the number of turns, and their endpoint. */
export const questionOf = ({ turns, verb }: BulkChoice): string => {
  const endpoints = endpointsOf(turns)
  const at = endpoints.length === 1 ? (endpoints[0]?.[0] ?? "") : `${endpoints.length} endpoints`
  switch (verb) {
    case "retry":
      return `Retry ${Count.of(turns.length, "turn")} that failed at ${at}?`
    case "abort-retry":
      return `Give up ${Count.of(turns.length, "turn")} that ${turns.length === 1 ? "waits" : "wait"} for ${at}?`
    case "switch-target":
      return `Switch ${Count.of(turns.length, "turn")} that ${turns.length === 1 ? "waits" : "wait"} for ${at}?`
    default:
      return verb satisfies never
  }
}

/** The effect of a command on each turn. */
export const consequenceOf = (verb: Verb): string => {
  switch (verb) {
    case "retry":
      return "The model runs again for each, from its last prompt. A turn that another prompt has followed stays as it is."
    case "abort-retry":
      return "Each ends now as failed, with the error that it waits for to pass. A failed turn can be retried later."
    case "switch-target":
      return "Each makes its next attempt now, and runs on the other model to its end."
    default:
      return verb satisfies never
  }
}

/** The outcomes of a command as one sentence, with the reasons of refusals. */
export const resultOf = (verb: Verb, outcomes: ReadonlyArray<BulkCommands.BulkOutcome>, asked: number): string => {
  const having = (wanted: BulkCommands.BulkOutcome["outcome"]) =>
    outcomes.filter(({ outcome }) => outcome === wanted).length
  const [done, idle, refused] = [having("done"), having("idle"), having("refused")]
  const missing = asked - outcomes.length
  const parts = [
    `${Count.of(done, "turn")} ${DONE[verb]}`,
    ...(idle > 0 ? [`${idle} had nothing to do any more`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(missing > 0 ? [`${missing} left alone`] : [])
  ]
  const reasons = reasonsOf(outcomes)
  return `${parts.join(", ")}.${reasons.length === 0 ? "" : ` ${reasons.join(" ")}`}`
}

// --- internal

const DONE: Readonly<Record<Verb, string>> = {
  retry: "retried",
  "abort-retry": "given up",
  "switch-target": "switched"
}

/** Reasons that are listed; a person looks at single turns for the others. */
const MOST_REASONS = 3

const reasonsOf = (outcomes: ReadonlyArray<BulkCommands.BulkOutcome>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const { message, outcome } of outcomes) {
    if (outcome === "refused" && message !== undefined) counts.set(message, (counts.get(message) ?? 0) + 1)
  }
  const reasons = [...counts].toSorted(([, m], [, n]) => n - m)
  const rest = reasons.length - MOST_REASONS
  return [
    ...reasons.slice(0, MOST_REASONS).map(([message, count]) => (count === 1 ? message : `${count} times: ${message}`)),
    ...(rest > 0 ? [`And ${Count.of(rest, "other reason")}.`] : [])
  ]
}
