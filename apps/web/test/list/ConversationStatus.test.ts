import { Ids } from "@holdfast/wire"
import { expect, it } from "vitest"
import * as ConversationStatus from "../../src/list/ConversationStatus.ts"

const turnId = Ids.TurnId.make("t_1")
const busy = { isBusy: true, lastTurnId: turnId }
const asks = { because: "turn", tokens: 9, limit: 5, waitedMs: 1, message: "Go on?" } as const

const wordsOf = (turn: Omit<ConversationStatus.ShownTurn, "turnId">, now = 1_000) =>
  ConversationStatus.wordsOf(ConversationStatus.of(busy, { turnId, ...turn }), now)

it("a list shows what each conversation is doing", () => {
  expect(wordsOf({ status: "running" })).toBe("working")
  expect(wordsOf({ status: "waiting", wait: { retry: 0, since: 0, retryAt: 61_000 } })).toBe("waits 1 min 00 s")
  expect(wordsOf({ status: "waiting", wait: { retry: 0, since: 0, retryAt: 500 } })).toBe("about to retry")
  expect(wordsOf({ status: "waiting", wait: { retry: 0, since: 0, retryAt: 6_000, asks } })).toBe("asks you · 5 s left")
  expect(wordsOf({ status: "failed", error: { reason: "auth", message: "No." } })).toBe("failed")
  expect(wordsOf({ status: "completed" })).toBe("done")
  expect(wordsOf({ status: "aborted" })).toBe("stopped")
  expect(wordsOf({ status: "queued" })).toBe("queued")
})

it("a conversation without a turn, or whose turn could not be read, is shown all the same", () => {
  expect(ConversationStatus.of({ isBusy: false }, undefined)).toEqual({ kind: "empty" })
  expect(ConversationStatus.of({ isBusy: false, lastTurnId: turnId }, undefined)).toEqual({ kind: "unknown" })
  expect(ConversationStatus.of(busy, undefined)).toEqual({ kind: "streaming" })
})
