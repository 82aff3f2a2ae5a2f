/** The commands that fit the turns on the screen, and their words. Pure. */
import { Count, type TurnState } from "@holdfast/wire"
import type { BulkCommands } from "@holdfast/wire/api"

/** The part of a turn that decides which commands fit. */
export type ChosenTurn = Pick<TurnState.TurnSummary, "turnId" | "conversationId" | "status" | "model">

/** A command for many turns. */
export type Verb = keyof typeof WORDS

/** The words of the commands, in the order of their buttons. */
export const WORDS = {
  retry: {
    name: "Retry",
    /** That of the turns that it is for. */
    status: "failed",
    done: "retried",
    /** Its effect on each turn. */
    consequence:
      "The model runs again for each, from its last prompt. A turn that another prompt has followed stays as it is."
  },
  "abort-retry": {
    name: "Give up",
    status: "waiting",
    done: "given up",
    consequence:
      "Each ends now as failed, with the error that it waits for to pass. A failed turn can be retried later."
  },
  "switch-target": {
    name: "Switch",
    status: "waiting",
    done: "switched",
    consequence: "Each makes its next attempt now, and runs on the other model to its end."
  }
} as const

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
  return VERBS.map((verb) => ({
    verb,
    turns: (verb === "retry" ? newest : turns).filter(({ status }) => status === WORDS[verb].status)
  })).filter(({ turns }) => turns.length > 0)
}

/** The endpoints of turns with the number of turns of each, most turns first. */
export const endpointsOf = (turns: ReadonlyArray<ChosenTurn>): ReadonlyArray<readonly [model: string, count: number]> =>
  Array.from(
    Map.groupBy(turns, ({ model }) => model),
    ([model, { length }]) => [model, length] as const
  ).toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))

/** The words of a button. */
export const buttonOf = ({ turns, verb }: BulkChoice): string =>
  `${WORDS[verb].name} ${turns.length} ${WORDS[verb].status} …`

/** The question of a confirmation: the command, the number of turns, and their endpoint. */
export const questionOf = ({ turns, verb }: BulkChoice): string => {
  const endpoints = endpointsOf(turns)
  const at = endpoints.length === 1 ? (endpoints[0]?.[0] ?? "") : `${endpoints.length} endpoints`
  const { name, status } = WORDS[verb]
  const state = status === "failed" ? "failed at" : `${turns.length === 1 ? "waits" : "wait"} for`
  return `${name} ${Count.of(turns.length, "turn")} that ${state} ${at}?`
}

/** The outcomes of a command as one sentence, with the reasons of refusals. */
export const resultOf = (verb: Verb, outcomes: ReadonlyArray<BulkCommands.BulkOutcome>, asked: number): string => {
  const having = (wanted: BulkCommands.BulkOutcome["outcome"]) =>
    outcomes.filter(({ outcome }) => outcome === wanted).length
  const [done, idle, refused] = [having("done"), having("idle"), having("refused")]
  const missing = asked - outcomes.length
  const parts = [
    `${Count.of(done, "turn")} ${WORDS[verb].done}`,
    ...(idle > 0 ? [`${idle} had nothing to do any more`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(missing > 0 ? [`${missing} left alone`] : [])
  ]
  const reasons = reasonsOf(outcomes)
  return `${parts.join(", ")}.${reasons.length === 0 ? "" : ` ${reasons.join(" ")}`}`
}

// --- internal

const VERBS: ReadonlyArray<Verb> = ["retry", "abort-retry", "switch-target"]

/** Reasons that are listed; a person looks at single turns for the others. */
const MOST_REASONS = 3

const reasonsOf = (outcomes: ReadonlyArray<BulkCommands.BulkOutcome>): ReadonlyArray<string> => {
  const refusals = outcomes.flatMap(({ message, outcome }) => (outcome === "refused" ? (message ?? []) : []))
  const reasons = [...Map.groupBy(refusals, (message) => message)].toSorted(([, m], [, n]) => n.length - m.length)
  const rest = reasons.length - MOST_REASONS
  return [
    ...reasons
      .slice(0, MOST_REASONS)
      .map(([message, { length }]) => (length === 1 ? message : `${length} times: ${message}`)),
    ...(rest > 0 ? [`And ${Count.of(rest, "other reason")}.`] : [])
  ]
}
