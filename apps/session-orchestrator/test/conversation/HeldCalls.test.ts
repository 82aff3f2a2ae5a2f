/** Tests how the turn of a held call begins. */
import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import type { CallFailure } from "@holdfast/kernel/host"
import { Ids } from "@holdfast/wire"
import { Effect, Stream } from "effect"
import * as HeldCalls from "../../src/conversation/HeldCalls.ts"
import * as HeldCallIds from "../../src/storage/HeldCallIds.ts"

const FIRST: CallFailure.Broken = {
  failure: { reason: "overloaded", message: "Overloaded", status: 529, retryable: true },
  body: '{"error":"Overloaded"}'
}

/** The attempts of a turn, by the kinds of their events, and what was called. */
const attempts = (first: CallFailure.Broken | undefined, numbers: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const done: Array<string> = []
    const stream: Provider.Provider["Service"]["stream"] = ({ attempt }) => {
      done.push(`call ${attempt}`)
      return Stream.make<[Provider.ProviderEvent]>({ type: "finish", finishReason: "stop" })
    }
    const held: HeldCalls.HeldCall = { stream, fits: () => true, first }
    const provider = HeldCalls.provider(held, { stream }, ({ attempt }) => void done.push(`begun ${attempt}`))
    const events: Array<Provider.ProviderEvent> = []
    for (const attempt of numbers) {
      const request = {
        conversationId: Ids.ConversationId.make("c"),
        turnId: Ids.TurnId.make("t"),
        target: { provider: "own", model: "m" },
        step: 0,
        attempt,
        messages: [],
        tools: []
      }
      events.push(...(yield* Stream.runCollect(provider.stream(request))))
    }
    return { done, events }
  })

const FINISH = { type: "finish", finishReason: "stop" }

describe("the turn of a held call", () => {
  it.effect("rule X13: begins with the failure of its first attempt, without a call, and calls from then on", () =>
    Effect.gen(function* () {
      const { done, events } = yield* attempts(FIRST, [0, 1])
      expect(events).toEqual([{ type: "error", ...FIRST }, FINISH])
      expect(done).toEqual(["begun 0", "call 1"])
    })
  )

  it.effect("rule X13, X5: never meets that failure in a later attempt, nor a second time", () =>
    Effect.gen(function* () {
      expect((yield* attempts(FIRST, [1, 0])).done).toEqual(["call 1", "call 0"])
      expect((yield* attempts(undefined, [0])).done).toEqual(["call 0"])
    })
  )

  it("rule X13: has an id from before its conversation, which is drawn when the first attempt has failed", () => {
    const key = "k-".repeat(HeldCallIds.KEY_LENGTH / 2)
    const conversationId = HeldCallIds.make(key, 1_700_000_000_000, "1a2b3c4d-5e6f")
    expect(HeldCallIds.turnOf(conversationId)).toBe(HeldCallIds.turn(1_700_000_000_000, "1a2b3c4d"))
    expect(HeldCallIds.read(conversationId)).toEqual({ key, since: 1_700_000_000_000 })
  })
})
