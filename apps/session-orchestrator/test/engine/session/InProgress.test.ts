import { expect, it } from "@effect/vitest"
import { Ids, TurnEvent } from "@holdfast/wire"
import * as GivenTurn from "../../GivenTurn.ts"
import { InProgress } from "../../../src/engine/session/InProgress.ts"

const { ids } = GivenTurn

const delta = GivenTurn.delta("Hello")
const start = GivenTurn.stepStart(0)
const answer = GivenTurn.answer("Hello")
const results: TurnEvent.MessageEvent = {
  type: "message",
  ...ids,
  message: { role: "tool", id: answer.message.id, turnId: ids.turnId, createdAt: 0, content: [] }
}
const end = GivenTurn.end("completed")
const file = { type: "file", ...ids, file: { type: "file", mediaType: "image/png", data: "AAAA" } } as const

it("rule X3: an event that repeats the turn's state is known; a step with content, or another target, is not", () => {
  const turn = new InProgress()
  expect(turn.isKnown(start)).toBe(false)
  turn.live(start)
  expect([turn.isKnown(start), turn.isKnown({ ...start, target: "other/m" })]).toEqual([true, false])
  expect(turn.isKnown({ ...start, step: 1 })).toBe(false)
  turn.live(delta)
  expect(turn.isKnown(start)).toBe(false)
  turn.live(start)
  // Earlier content is dropped, as in every client.
  expect(turn.events()).toEqual([start])
  turn.persisted({ type: "step-discarded", ...ids, step: 0, message: "Restarted." })
  expect(turn.isKnown(start)).toBe(false)
  // A wait is known by its turn, its end, and the calls that it still asks about.
  const wait = GivenTurn.retry()
  expect(turn.isKnown(wait)).toBe(false)
  turn.live(wait)
  turn.hold(wait.retryAt + 1)
  const calls = [{ toolCallId: "call", toolName: "tool", quoted: "" }]
  const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "", calls } as const
  for (const [isKnown, over] of [
    [true, {}],
    [false, { retryAt: 300_001 }],
    [false, { turnId: Ids.TurnId.make("other") }],
    [false, { asks }]
  ] as const)
    expect(turn.isKnown({ ...wait, ...over })).toBe(isKnown)
})

it("the text so far is encoded once for all clients that connect at the same point, and never again after it", () => {
  const turn = new InProgress()
  turn.live(start)
  turn.live(delta)
  const first = turn.frames()
  expect(turn.frames()).toBe(first)
  expect(first.map(({ json }) => JSON.parse(json))).toEqual([start, delta])
  turn.live({ ...delta, delta: " world" })
  const second = turn.frames()
  expect(second.map(({ json }) => JSON.parse(json))).toEqual([start, delta, { ...delta, delta: " world" }])
  for (const [i, frame] of first.entries()) expect(second[i]).toBe(frame)
  turn.persisted(answer)
  expect(turn.frames()).toEqual([])
})

it("clients that come later get what is not on disk; a turn answers from its first content until the record after the answer", () => {
  const missing = { type: "tools-missing", ...ids, servers: [{ server: "files", message: "" }] } as const
  const wait = GivenTurn.retry()
  const over = { type: "retry-end", ...ids, success: true, attempt: 0 } as const
  const thought = { ...delta, type: "reasoning-delta" } as const
  const [here, there] = ["anthropic/claude", "openai/gpt"]
  const cases: ReadonlyArray<
    readonly [
      types: string,
      target: string | undefined,
      answers: boolean,
      ...events: ReadonlyArray<TurnEvent.TurnEvent>
    ]
  > = [
    ["step-start provider-retry", here, false, start, wait],
    ["step-start provider-retry", here, false, start, { ...wait, delayMs: 1 }],
    ["step-start", here, false, start, wait, { ...wait, delayMs: 0 }],
    ["step-start text5", here, true, start, wait, delta],
    ["step-start file", here, true, start, wait, file],
    ["step-start text10 reasoning5 file text5", here, true, start, delta, delta, thought, file, delta],
    ["step-start", here, false, wait, start],
    ["step-start", here, false, start, wait, over],
    ["step-start provider-retry", there, false, start, wait, GivenTurn.modelChange(there)],
    ["", here, false, start, delta, wait, GivenTurn.stepDiscarded("")],
    ["", here, true, start, delta, wait, answer],
    ["", here, false, start, delta, answer, results],
    ["text5", here, true, start, delta, answer, results, delta],
    ["tools-missing provider-retry", undefined, false, wait, missing],
    ["tools-missing step-start", here, false, missing, start],
    ["step-start", here, false, { ...missing, until: 5 }, start],
    ["", undefined, false, missing, start, delta, wait, answer, end]
  ]
  for (const [types, target, answers, ...events] of cases) {
    const turn = new InProgress()
    for (const event of events) {
      if (TurnEvent.isPersisted(event)) turn.persisted(event)
      else turn.live(event)
    }
    const typesOf = () =>
      turn.events().map((event) => event.type.replace("-delta", "delta" in event ? String(event.delta.length) : ""))
    expect([typesOf().join(" "), turn.target, turn.isAnswering]).toEqual([types, target, answers])
    turn.withdraw()
    expect(turn.contentOf).toBeUndefined()
    turn.reset()
    expect([typesOf(), turn.target, turn.isAnswering, turn.retry]).toEqual([[], undefined, false, undefined])
  }
})
