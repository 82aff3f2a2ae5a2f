/** Records the outcome of a scenario and compares it with the expectation. */
import { assert } from "@effect/vitest"
import { Message, Target, type TurnEvent } from "@holdfast/wire"
import { shown } from "../service/Shown.ts"
import type { Asked } from "./ReceivedCall.ts"
import * as Rule from "./RuleScenario.ts"

export interface PlayedTurn {
  readonly calls: ReadonlyArray<Asked>
  readonly events: ReadonlyArray<TurnEvent.TurnEvent>
}

export interface Played {
  readonly turns: ReadonlyArray<PlayedTurn>
  readonly history: ReadonlyArray<Message.Message>
}

/** Fails if the outcome differs from the scenario; `ms` shortens a duration as the runner did. */
export const verify = (scenario: Rule.Scenario, played: Played, ms: (ms: number) => number): void => {
  const first = scenario.targets?.[0] ?? Rule.TARGET
  for (const [i, turn] of Rule.turnsOf(scenario).entries()) {
    const { calls, events } = played.turns[i] ?? { calls: [], events: [] }
    const targets = turn.follows.calls ?? turn.given.map(() => first)
    const told = withoutRuns(events)
    assert.deepStrictEqual(partsOf(told, turn.follows.events), expectedOf(turn, ms), `turn ${i}: events`)
    const called = calls.map((call) => callOf(scenario, call))
    assert.deepStrictEqual(called, targets, `turn ${i}: calls`)
    assert.strictEqual(shown(events), turn.follows.shown ?? "", `turn ${i}: what is shown`)
    if (turn.follows.asked !== undefined) {
      const asked = calls.map(({ lines }) => lines)
      assert.deepStrictEqual(asked, turn.follows.asked, `turn ${i}: what the model is shown`)
    }
    if (turn.follows.offered !== undefined) {
      const offered = calls.map(({ offered }) => offered)
      assert.deepStrictEqual(offered, turn.follows.offered, `turn ${i}: what the model is offered`)
    }
    const end = events.at(-1)
    assert.isTrue(end?.type === "turn-end", `turn ${i}: nothing follows the seal`)
    // C9: one attempt is one request.
    assert.strictEqual(end?.type === "turn-end" ? end.attempts : undefined, calls.length, `turn ${i}: attempts`)
  }
  const history = played.history.map((message) => lineOf(message, first))
  assert.deepStrictEqual(history, scenario.history, "history")
}

// --- internal

const callOf = ({ credentials = {} }: Rule.Setting, { key, target }: Asked): string => {
  const variable = credentials[Rule.providerOf(target)]?.find((name) => Rule.keyOf(name) === key)
  return variable === undefined ? target : `${target}#${variable}`
}

/** A message of the history as a line: role, target if it was not the `first` one, error, text. */
const lineOf = (message: Message.Message, first: string): string => {
  switch (message.role) {
    case "user":
      return `${whoSays(message)}: ${Message.textOf(message)}`
    case "tool":
      return message.content.map(({ isError, toolName }) => `tool: ${toolName}${isError ? " failed" : ""}`).join(", ")
    case "assistant": {
      const target = Target.format(message.target)
      const model = target === first ? "assistant" : `assistant at ${target}`
      const who = message.error === undefined ? model : `${model} (${message.error.reason})`
      const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [`calls ${part.toolName}`] : []))
      return [`${who}:`, Message.textOf(message), ...calls].filter((part) => part !== "").join(" ")
    }
    default:
      return message satisfies never
  }
}

/** The author of a user message: a person; Holdfast, for the model; a summary of earlier messages. */
const whoSays = ({ summary, synthetic }: Message.UserMessage): string => {
  if (summary !== undefined) return "summary"
  return synthetic === true ? "told" : "user"
}

/** Neighbouring deltas are one. */
const withoutRuns = (events: ReadonlyArray<TurnEvent.TurnEvent>): ReadonlyArray<TurnEvent.TurnEvent> =>
  events.filter(({ type }, i) => !type.endsWith("-delta") || events[i - 1]?.type !== type)

/** The expected fields of each event; the type of an unexpected one. */
const partsOf = (events: ReadonlyArray<TurnEvent.TurnEvent>, expected: ReadonlyArray<Rule.Expected>) =>
  events.map((event, i): object => {
    const pattern = expected[i]
    const keys = pattern === undefined || typeof pattern === "string" ? ["type"] : Object.keys(pattern)
    return Object.fromEntries(Object.entries(event).filter(([key]) => keys.includes(key)))
  })

const expectedOf = ({ follows }: Rule.Turn, ms: (ms: number) => number) =>
  follows.events.map((expected): object => {
    if (typeof expected === "string") return { type: expected }
    const shortened = Object.entries(expected).map(([key, value]) =>
      key.endsWith("Ms") && typeof value === "number" ? [key, ms(value)] : [key, value]
    )
    return Object.fromEntries(shortened)
  })
