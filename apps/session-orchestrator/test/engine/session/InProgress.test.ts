import { expect, it } from "@effect/vitest"
import { TurnEvent } from "@holdfast/wire"
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

it("a turn is answering from its first content until the record after the answer is on disk, and what is discarded is no answer", () => {
  const voided = { type: "step-discarded", ...ids, step: 0, message: "Restarted." } as const
  const cases: ReadonlyArray<readonly [isAnswering: boolean, ...events: ReadonlyArray<TurnEvent.TurnEvent>]> = [
    [false, start],
    [true, start, delta],
    [true, start, delta, answer],
    [false, start, delta, answer, end],
    [false, start, delta, answer, results],
    [true, start, delta, answer, results, delta],
    [false, start, delta, voided]
  ]
  for (const [isAnswering, ...events] of cases) {
    const turn = new InProgress()
    for (const event of events) {
      if (TurnEvent.isPersisted(event)) turn.persisted(event)
      else turn.live(event)
    }
    expect([events.map(({ type }) => type), turn.isAnswering]).toEqual([events.map(({ type }) => type), isAnswering])
  }
})

it("rule X3: an event that repeats the turn's state is known; a step with content, or another target, is not", () => {
  const turn = new InProgress()
  expect(turn.isKnown(start)).toBe(false)
  turn.live(start)
  expect(turn.isKnown(start)).toBe(true)
  expect(turn.isKnown({ ...start, target: "other/m" })).toBe(false)
  expect(turn.isKnown({ ...start, step: 1 })).toBe(false)
  turn.live(delta)
  expect(turn.isKnown(start)).toBe(false)
  turn.live(start)
  // Earlier content is dropped, as in every client.
  expect(turn.events()).toEqual([start])
  turn.persisted({ type: "step-discarded", ...ids, step: 0, message: "Restarted." })
  expect(turn.isKnown(start)).toBe(false)
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

it("rule X3: a file is content in its place among the texts, for clients that come later", () => {
  const file = { type: "file", ...ids, file: { type: "file", mediaType: "image/png", data: "AAAA" } } as const
  const turn = new InProgress()
  for (const event of [start, delta, delta, file, delta] as const) turn.live(event)
  expect(turn.events()).toEqual([start, { ...delta, delta: "HelloHello" }, file, delta])
  const alone = new InProgress()
  alone.live(file)
  expect(alone.contentOf).toBe("t")
  alone.withdraw()
  expect(alone.events()).toEqual([])
})
