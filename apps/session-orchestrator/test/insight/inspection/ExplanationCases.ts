/** Tests the explanations of real turns: their sentences, in order. */
import { assert } from "@effect/vitest"
import { GivenRecords, ScriptedProvider } from "@holdfast/kernel/testing"
import { type Failure, TurnCourse, TurnExplanation } from "@holdfast/wire"
import { type Effect, Schema } from "effect"
import * as StoredTurns from "../../../src/insight/inspection/StoredTurns.ts"
import * as ScriptedTurn from "./ScriptedTurn.ts"

/** The events of a turn, what is done to it meanwhile, and the sentences that must occur, in this order. */
type Case = readonly [
  given: ScriptedTurn.Plan & { readonly live?: (hand: ScriptedTurn.Hand) => Effect.Effect<unknown> },
  ...expects: ReadonlyArray<string>
]

/** Defines a test for each case, by the events of its turn. */
export const explains = (cases: Readonly<Record<string, Case>>): void => {
  for (const [title, [{ live, ...plan }, ...expects]] of Object.entries(cases)) {
    ScriptedTurn.test(`rule X9: the explanation of ${title}`, function* () {
      const explanation = yield* ScriptedTurn.happened(plan, live)
      const words = wordsOf(explanation)
      const found = words.filter((sentence) => expects.includes(sentence))
      assert.deepStrictEqual(found, expects, words.join("\n"))
      assert.isTrue(isExplanation(JSON.parse(JSON.stringify(explanation))))
      follows(explanation)
    })
  }
}

/** Every sentence, in order. */
export const wordsOf = ({ seal, steps }: TurnExplanation.TurnExplanation): ReadonlyArray<string> => [
  ...steps.flatMap(({ attempts, tools }) => [
    ...attempts.flatMap(({ decision, wait, words }) => [
      words,
      ...(decision === undefined ? [] : [decision.words]),
      ...(wait?.asked === undefined ? [] : [wait.asked.words]),
      ...(wait?.changes.map(({ words }) => words) ?? []),
      ...(wait?.end === undefined ? [] : [wait.end.words])
    ]),
    ...tools.map(({ words }) => words)
  ]),
  ...(seal === undefined ? [] : [seal.words])
]

export const overloaded: Failure.Failure = { ...GivenRecords.overloaded, code: "overloaded_error" }

export const tooLong: Failure.Failure = { reason: "context-overflow", message: "prompt is too long", retryable: false }

export const quota: Failure.Failure = {
  reason: "quota-exhausted",
  message: "You exceeded your quota",
  retryable: false
}

/** A failure that asks for a wait of so many milliseconds. */
export const asked = (ms: number): Failure.Failure => ({
  ...overloaded,
  hint: { retryAfterMs: ms, source: "retry-after" }
})

/** So many attempts that fail in the same way. */
export const down = (times: number, failure = overloaded) =>
  Array.from({ length: times }, () => ScriptedProvider.emits(failure))

// --- internal

/** X9: the course has each attempt of the explanation, in spans that are in order and do not overlap. */
const follows = (explanation: TurnExplanation.TurnExplanation): void => {
  const course = StoredTurns.courseOf(explanation, explanation.seal?.endedAt ?? explanation.acceptedAt + 86_400_000)
  assert.isTrue(Schema.is(TurnCourse.TurnCourse)(course))
  const place = ({ attempt, target }: { readonly attempt: number; readonly target: string }, step: number) =>
    `${step}/${attempt} ${target}`
  assert.deepStrictEqual(
    course.attempts.map((attempt) => place(attempt, attempt.step)),
    explanation.steps.flatMap(({ attempts, step }) => attempts.map((attempt) => place(attempt, step)))
  )
  assert.deepStrictEqual(
    course.attempts.map(({ outcome }) => outcome),
    explanation.steps.flatMap(({ attempts }) =>
      attempts.map(({ failure, outcome }) =>
        failure?.shared === true ? "shared" : outcome === "completed" ? "answered" : outcome
      )
    )
  )
  const times = course.attempts.flatMap(({ from, to = from, wait }) =>
    wait === undefined ? [from, to] : [from, to, wait.from, wait.to]
  )
  const inOrder = times.toSorted((a, b) => a - b)
  assert.deepStrictEqual(times, inOrder)
  assert.isAtLeast(times[0] ?? explanation.acceptedAt, explanation.acceptedAt)
}

const isExplanation = Schema.is(TurnExplanation.TurnExplanation)
