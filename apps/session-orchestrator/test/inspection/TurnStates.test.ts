import { GivenRecords as Records } from "@holdfast/kernel/testing"
import { describe, expect, it } from "@effect/vitest"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import type { Prices } from "@holdfast/policy"
import { Config, type Values } from "../../src/config/Config.ts"
import * as Secrets from "../../src/redaction/Secrets.ts"
import * as StoredTurns from "../../src/inspection/StoredTurns.ts"
import * as TurnReport from "../../src/inspection/TurnReport.ts"
import * as MemoryStore from "../storage/MemoryStore.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const conversation = NumberedData.conversation(1)
const turn = { ...NumberedData.turn(1, 1, { acceptedAt: 0 }), end: undefined }
const start: TurnEvent.TurnStart = {
  type: "turn-start",
  conversationId: turn.conversationId,
  turnId: turn.turnId,
  startedAt: 0
}
const ended = (change: Partial<TurnEvent.TurnEnd> = {}) => {
  const end = { ...NumberedData.end(1, 1), ...change }
  return { turn: { ...turn, end }, events: [start, NumberedData.message(1, 1, 0), NumberedData.message(1, 1, 1), end] }
}
const changed: TurnEvent.ModelChange = {
  type: "model-change",
  conversationId: turn.conversationId,
  turnId: turn.turnId,
  from: conversation.model,
  to: "other/m"
}

const of = (evidence: Partial<TurnReport.StoredTurn>) =>
  TurnReport.ofStored({ turn, conversation, events: [start], records: [], ...evidence }, (text) =>
    text.replaceAll("planted", "[redacted]")
  )

const waits = [Records.failed(0, 1_000), Records.retry(0, 5_000, 6_000)]

describe("the state of a turn", () => {
  it("rule X15: is queued behind another turn, and running once it has begun", () => {
    const head = {
      conversationId: turn.conversationId,
      turnId: turn.turnId,
      model: conversation.model,
      acceptedAt: 0,
      attempts: 0
    }
    expect(of({ events: [] })).toEqual({ ...head, status: "queued" })
    expect(of({})).toEqual({ ...head, status: "running" })
    expect(of({ records: [...waits, Records.wake(0, 0, { type: "elapsed" })] })).toEqual({
      ...head,
      status: "running",
      attempts: 1
    })
  })

  it("rule X15: has the cause, end and begin of a wait, as commands have moved it", () => {
    expect(of({ records: waits })).toMatchObject({
      status: "waiting",
      attempts: 1,
      wait: { retry: 0, retryAt: 6_000, since: 1_000 },
      error: { reason: "overloaded", message: "Overloaded", code: "529" }
    })
    const moved = [...waits, Records.wake(0, 0, { type: "until", until: 9_000 })]
    expect(of({ records: moved }).wait).toEqual({ retry: 0, retryAt: 9_000, since: 1_000 })
  })

  it("rule X11, X15: has its question, and the time until which it accepts an answer", () => {
    const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 5_000, message: "May it go on?" }
    const records = [...waits, Records.wake(0, 0, { type: "asked", asks, until: 90_000 })]
    expect(of({ records })).toMatchObject({
      status: "waiting",
      wait: { retry: 0, retryAt: 90_000, since: 1_000, asks }
    })
  })

  it("rule X15: has the answer and the usage when completed, and no wait", () => {
    expect(of({ ...ended({ sleptMs: 40_000, waitedMs: 15_000 }), records: waits })).toEqual({
      conversationId: turn.conversationId,
      turnId: turn.turnId,
      status: "completed",
      model: conversation.model,
      acceptedAt: 0,
      endedAt: 1_760_000_001_000,
      attempts: 3,
      waitedMs: 15_000,
      usage: { inputTokens: 10 },
      cost: "unknown",
      text: `message 1 of turn 1: "quoted", \u{1f6f6}, line\nbreak`
    })
  })

  it("rule X15: has the scheduled waits of a turn whose end has no others", () => {
    expect(of(ended({ sleptMs: 40_000 })).waitedMs).toBe(40_000)
  })

  it("rule X15: has the final report", () => {
    const report = { source: "tool-call", success: true, content: { done: true } } as const
    expect(of(ended({ report })).report).toEqual(report)
  })

  it("rule X15: has the last error when failed, without secrets, and no answer", () => {
    const error = {
      reason: "overloaded",
      message: "planted: no",
      retryable: true,
      code: "planted_error"
    } as const
    const state = of(ended({ status: "failed", error }))
    expect(state.error).toEqual({ reason: "overloaded", message: "[redacted]: no", code: "[redacted]_error" })
    expect(state).not.toHaveProperty("text")
    const waiting = of({ records: [Records.failed(0, 1_000, 0, error), Records.retry(0, 5_000, 6_000)] })
    expect(waiting.error?.message).toBe("[redacted]: no")
  })

  it("has the cost of an ended turn, by the model of each call; unknown if a part of it is not known", () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 100_000 }
    const [one, two] = [{ "first/m": { input: 1, output: 10 } }, { "second/m": { input: 2, output: 20 } }]
    const cost = (prices: Prices.Prices, given: Partial<TurnReport.StoredTurn>) =>
      TurnReport.ofStored({ turn, conversation, events: [start], records: [], ...given }, (text) => text, prices).cost
    const begun = [Records.begins("first"), Records.failed(0, 1_000)]
    const switched = [...begun, Records.sent(0, 5_000, 6_000, "second"), Records.wake(0, 0, { type: "elapsed" })]
    expect(cost(one, { ...ended({ usage }), records: begun })).toBe(2)
    // No call reported tokens, so all of them are those of the last one.
    expect(cost({ ...one, ...two }, { ...ended({ usage }), records: switched })).toBe(4)
    expect(cost({}, { ...ended({ usage }), records: begun })).toBe("unknown")
    expect(cost(one, { ...ended({ usage: { inputTokens: 5 } }), records: begun })).toBe("unknown")
    const last = ended({ usage })
    const both = { ...one, "other/m": { input: 1, output: 1 } }
    expect(cost(both, { turn: last.turn, events: [...last.events, changed] })).toBe("unknown")
    expect(cost(one, {})).toBeUndefined()
  })

  it("rule X15: has neither an answer nor an error when aborted", () => {
    const state = of(ended({ status: "aborted" }))
    expect(state).toMatchObject({ status: "aborted", endedAt: 1_760_000_001_000 })
    expect(state).not.toHaveProperty("text")
    expect(state).not.toHaveProperty("error")
  })

  it("rule P8, X15: names the target that the turn waits for, calls, or ended on, also after its journal is deleted", () => {
    const begun = [Records.begins("first"), Records.failed(0, 1_000)]
    expect(of({ records: [...begun, Records.sent(0, 5_000, 6_000, "second")] }).model).toBe("first/m")
    const woken = [...begun, Records.sent(0, 5_000, 6_000, "second"), Records.wake(0, 0, { type: "elapsed" })]
    expect(of({ records: woken }).model).toBe("second/m")
    expect(of({ ...ended(), records: woken }).model).toBe("second/m")
    const { events, turn } = ended()
    expect(of({ turn, events: [...events, changed] }).model).toBe("other/m")
    expect(of({ turn, events, conversation: { ...conversation, model: "later/m" } }).model).toBe("simulated/steady")
    expect(of({ turn, events: [start] }).model).toBe(conversation.model)
  })
})

it.effect("rule X15: is read from disk, by the turn's id alone; an unknown turn is named", () =>
  Effect.gen(function* () {
    const store = yield* NumberedData.oneTurn
    const states = yield* StoredTurns.StoredTurns
    expect((yield* states.find(turn.turnId)).status).toBe("queued")
    yield* store.appendEvents(
      turn.conversationId,
      turn.turnId,
      [NumberedData.message(1, 1, 1), NumberedData.end(1, 1)],
      0
    )
    expect(yield* states.find(turn.turnId)).toMatchObject({
      status: "completed",
      text: NumberedData.textOf(NumberedData.message(1, 1, 1).message)
    })
    const { message } = yield* Effect.flip(states.find(Ids.TurnId.make("none")))
    expect(message).toBe("There is no turn none.")
  }).pipe(
    Effect.provide(
      StoredTurns.layer.pipe(
        Layer.provideMerge(MemoryStore.layer),
        Layer.provide([
          Layer.succeed(Secrets.Secrets, Secrets.shapes),
          Layer.succeed(Config, { prices: {} } as unknown as Values)
        ])
      )
    )
  )
)
