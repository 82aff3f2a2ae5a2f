/** What became of a scenario, whoever ran it, and whether that is what it says. */
import { assert } from "@effect/vitest"
import { Message, type TurnEvent } from "@holdfast/wire"
import { shown } from "../service/Shown.ts"
import type { Asked } from "./Asked.ts"
import { type Expected, type Scenario, TARGET, type Turn } from "./Scenario.ts"

export interface PlayedTurn {
  readonly calls: ReadonlyArray<Asked>
  readonly events: ReadonlyArray<TurnEvent.TurnEvent>
}

export interface Played {
  readonly turns: ReadonlyArray<PlayedTurn>
  readonly history: ReadonlyArray<Message.Message>
}

/** Fails where a scenario was played otherwise than it says; `ms` shortens a duration as the runner did. */
export const verify = (scenario: Scenario, played: Played, ms: (ms: number) => number): void => {
  const first = scenario.targets?.[0] ?? TARGET
  for (const [i, turn] of scenario.turns.entries()) {
    const { calls, events } = played.turns[i] ?? { calls: [], events: [] }
    const targets = turn.follows.calls ?? turn.given.map(() => first)
    const told = withoutRuns(events)
    assert.deepStrictEqual(partsOf(told, turn.follows.events), expectedOf(turn, ms), `turn ${i}: events`)
    assert.deepStrictEqual(
      calls.map(({ target }) => target),
      targets,
      `turn ${i}: calls`
    )
    assert.strictEqual(shown(events), turn.follows.shown ?? "", `turn ${i}: what is shown`)
    if (turn.follows.asked !== undefined) {
      assert.deepStrictEqual(
        calls.map(({ lines }) => lines),
        turn.follows.asked,
        `turn ${i}: what the model is shown`
      )
    }
    const end = events.at(-1)
    assert.isTrue(end?.type === "turn-end", `turn ${i}: nothing follows the seal`)
    // C9: one attempt is one request.
    assert.strictEqual(end?.type === "turn-end" ? end.attempts : undefined, calls.length, `turn ${i}: attempts`)
  }
  assert.deepStrictEqual(played.history.map(lineOf), scenario.history, "history")
}

// --- internal

/** A message of the history as a line: who, what went wrong, what was said. */
const lineOf = (message: Message.Message): string => {
  switch (message.role) {
    case "user":
      return `user: ${Message.textOf(message)}`
    case "tool":
      return message.content.map(({ isError, toolName }) => `tool: ${toolName}${isError ? " failed" : ""}`).join(", ")
    case "assistant": {
      const who = message.error === undefined ? "assistant" : `assistant (${message.error.reason})`
      const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [`calls ${part.toolName}`] : []))
      return [`${who}:`, Message.textOf(message), ...calls].filter((part) => part !== "").join(" ")
    }
    default:
      return message satisfies never
  }
}

/** Neighbouring deltas are one. */
const withoutRuns = (events: ReadonlyArray<TurnEvent.TurnEvent>): ReadonlyArray<TurnEvent.TurnEvent> =>
  events.filter(({ type }, i) => !type.endsWith("-delta") || events[i - 1]?.type !== type)

/** Of each event what is expected of it; of one too many its type. */
const partsOf = (events: ReadonlyArray<TurnEvent.TurnEvent>, expected: ReadonlyArray<Expected>) =>
  events.map((event, i): object => {
    const pattern = expected[i]
    const keys = pattern === undefined || typeof pattern === "string" ? ["type"] : Object.keys(pattern)
    return Object.fromEntries(Object.entries(event).filter(([key]) => keys.includes(key)))
  })

const expectedOf = ({ follows }: Turn, ms: (ms: number) => number) =>
  follows.events.map((expected): object => {
    if (typeof expected === "string") return { type: expected }
    const shortened = Object.entries(expected).map(([key, value]) =>
      key.endsWith("Ms") && typeof value === "number" ? [key, ms(value)] : [key, value]
    )
    return Object.fromEntries(shortened)
  })
