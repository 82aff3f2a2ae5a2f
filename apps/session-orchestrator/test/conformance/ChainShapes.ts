/** Common parts of scenarios with several targets: targets, chains, and switches. */
import * as Answers from "./Answers.ts"
import * as Rule from "./RuleScenario.ts"
import { ANSWER, ANSWERED } from "./Shapes.ts"

export const SPARE = "spare/m"
export const THIRD = "third/m"

export const TWO = [Rule.TARGET, SPARE] as const
export const THREE = [Rule.TARGET, SPARE, THIRD] as const

/** A chain with its own profile (P3). */
export const chain = (...standIns: ReadonlyArray<string>) =>
  ({ profile: "interactive", routing: { type: "fallback-chain", chains: { default: standIns } } }) as const

/** The setting of a conversation with such a chain. */
export const chained = (...standIns: ReadonlyArray<string>) =>
  ({ retry: chain(...standIns), targets: [Rule.TARGET, ...standIns] }) as const

/** The same, and no turn returns to the primary. */
export const never = (...standIns: ReadonlyArray<string>) => {
  const { retry, targets } = chained(...standIns)
  return { retry: { ...retry, routing: { ...retry.routing, revert: "never" } }, targets } as const
}

/** A turn that begins on the fallback which the last one has used, because the primary cools down: nothing has changed. */
export const begunOn = (model: string): ReadonlyArray<Rule.Expected> => [
  "turn-start",
  "message",
  { type: "step-start", target: model },
  ...Rule.answered()
]

/** A second turn, which is answered. */
export const secondTurn = (calls: ReadonlyArray<string>, events: ReadonlyArray<Rule.Expected>) => ({
  prompt: "And?",
  given: [Answers.says(ANSWER)],
  follows: { calls, events, shown: ANSWER }
})

/** Failures lead to these calls and events; the last target answers. */
export const movesOn = ({ calls, events, failures, ...rest }: Omit<Rule.Setting, "history"> & Moves): Rule.Scenario => {
  const [last] = calls.at(-1)?.split("#") ?? []
  return {
    ...rest,
    given: [...failures, Answers.says(ANSWER)],
    follows: { calls, events: [...Rule.BEGUN, ...events], shown: ANSWER },
    history: last === Rule.TARGET ? ANSWERED : ["user: Hello", `assistant at ${last}: ${ANSWER}`]
  }
}

interface Moves extends Pick<Rule.Turn, "when"> {
  readonly failures: ReadonlyArray<Answers.Answer>
  readonly calls: ReadonlyArray<string>
  readonly events: ReadonlyArray<Rule.Expected>
}

/** The first call fails, and the fallback answers at once. */
export const takenOver = {
  calls: TWO,
  events: [
    ...Rule.BEGUN,
    Rule.atOnce(0, "overloaded"),
    ...Rule.fallsBack(Rule.TARGET, SPARE),
    ...Rule.provedAt(SPARE, 0)
  ],
  shown: ANSWER
}

export const AT_SPARE = `assistant at ${SPARE}: ${ANSWER}`
