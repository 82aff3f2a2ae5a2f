/** The last events of a turn that its host seals without running it. */
import { assert, describe, it } from "@effect/vitest"
import { Ids, type TurnEvent } from "@holdfast/wire"
import * as Sealing from "../src/turn/Sealing.ts"
import * as Turn from "../src/turn/Turn.ts"

const identity = { conversationId: Ids.ConversationId.make("c1"), turnId: Ids.TurnId.make("t1") }
const tally: Sealing.Tally = { steps: 1, attempts: 3, sleptMs: 5, waitedMs: 6, usage: { inputTokens: 7 } }
const failure = { reason: "unknown", message: "It died.", retryable: false, defect: true } as const

const sealing = (outcome: Partial<Parameters<typeof Sealing.sealing>[2]>) =>
  Sealing.sealing(identity, tally, {
    status: "failed",
    failure,
    endedAt: 9,
    unclosed: undefined,
    discarded: undefined,
    ...outcome
  })

const types = (events: ReadonlyArray<TurnEvent.TurnEvent>) => events.map(({ type }) => type)

describe("the seal of a turn that is not run again", () => {
  it("rule X14: is an error and the end, with all counts of the turn", () => {
    const { end, events } = sealing({})
    assert.deepStrictEqual(types(events), ["error", "turn-end"])
    assert.deepStrictEqual<unknown>(end, {
      ...identity,
      type: "turn-end",
      status: "failed",
      endedAt: 9,
      ...tally,
      error: failure
    })
    assert.deepStrictEqual(events.at(-1), end)
  })

  it("rule X2, P11: voids the step whose text was shown, then closes the open chain, before its error", () => {
    const { events } = sealing({ unclosed: 2, discarded: 1 })
    assert.deepStrictEqual(types(events), ["step-discarded", "retry-end", "error", "turn-end"])
    assert.deepInclude(events[0], { step: 1 })
    assert.deepInclude(events[1], { attempt: 2, success: false, finalError: "It died." })
  })

  it("rule D8: of an abort has no error, and reports the retry as cancelled", () => {
    const { end, events } = sealing({ status: "aborted", failure: Turn.aborted, unclosed: 0 })
    assert.deepStrictEqual(types(events), ["retry-end", "turn-end"])
    assert.deepInclude(events[0], { finalError: "Retry cancelled" })
    assert.notProperty(end, "error")
    assert.strictEqual(end.status, "aborted")
  })
})
