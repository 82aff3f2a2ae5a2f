/** Common scenarios: a turn is answered after some failures, or fails. */
import { defined, type Failure } from "@holdfast/wire"
import { type Answer, says } from "./Answers.ts"
import * as RuleScenario from "./RuleScenario.ts"

export const SECOND = 1_000
export const MINUTE = 60_000
export const HOUR = 3_600_000

export const ANSWER = "Here I am."

/** The history of an answered turn: it has no trace of the failures. */
export const ANSWERED: ReadonlyArray<string> = ["user: Hello", `assistant: ${ANSWER}`]

export const times = (count: number, answer: Answer): ReadonlyArray<Answer> =>
  Array.from({ length: count }, () => answer)

type Rest = Partial<Omit<RuleScenario.Setting, "title" | "history">>

/** The failures lead to these waits, and then the answer comes, once. Each call has the same messages. */
export const outlives = (
  title: string,
  failures: ReadonlyArray<Answer>,
  waits: ReadonlyArray<RuleScenario.Pattern>,
  rest: Rest = {}
): RuleScenario.Scenario => ({
  ...rest,
  title,
  given: [...failures, says(ANSWER)],
  follows: {
    asked: [...failures, ANSWER].map(() => ["user: Hello"]),
    events: [
      ...RuleScenario.BEGUN,
      ...waits,
      ...RuleScenario.answered(waits.length === 0 ? undefined : waits.length - 1)
    ],
    shown: ANSWER
  },
  history: ANSWERED
})

/** The failures lead to these waits, except the last one, which fails the turn. */
export const endsIn = (
  title: string,
  reason: Failure.Reason,
  failures: ReadonlyArray<Answer>,
  rest: Rest & { readonly shown?: string; readonly waits?: ReadonlyArray<RuleScenario.Pattern> } = {}
): RuleScenario.Scenario => {
  const { shown, waits = [], ...others } = rest
  return {
    ...others,
    title,
    given: failures,
    follows: {
      events: [
        ...RuleScenario.BEGUN,
        ...waits,
        ...(shown === undefined ? [] : (["text-delta"] as const)),
        ...RuleScenario.failed(reason, waits.length === 0 ? undefined : { attempt: waits.length - 1 })
      ],
      ...defined({ shown })
    },
    history: ["user: Hello", [`assistant (${reason}):`, ...(shown === undefined ? [] : [shown])].join(" ")]
  }
}
