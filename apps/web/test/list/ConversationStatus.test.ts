import { Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as ConversationStatus from "../../src/list/ConversationStatus.ts"

const turnId = Ids.TurnId.make("t_1")
const busy = { isBusy: true, lastTurnId: turnId }
const asks = { because: "turn", tokens: 9, limit: 5, waitedMs: 1, message: "Go on?" } as const

const wordsOf = (turn: Omit<ConversationStatus.ShownTurn, "turnId">, now = 1_000) =>
  ConversationStatus.wordsOf(ConversationStatus.of(busy, { turnId, ...turn }), now)

it("a list shows what each conversation is doing", () => {
  expect(wordsOf({ status: "running" })).toBe("working")
  expect(wordsOf({ status: "waiting", wait: { retry: 0, since: 0, retryAt: 61_000 } })).toBe("waits 1 m 00 s")
  expect(wordsOf({ status: "waiting", wait: { retry: 0, since: 0, retryAt: 500 } })).toBe("about to retry")
  expect(wordsOf({ status: "waiting", wait: { retry: 0, since: 0, retryAt: 6_000, asks } })).toBe("asks you · 5 s left")
  expect(wordsOf({ status: "failed", error: { reason: "auth", message: "No." } })).toBe("failed")
  expect(wordsOf({ status: "completed" })).toBe("done")
  expect(wordsOf({ status: "aborted" })).toBe("aborted")
  expect(wordsOf({ status: "queued" })).toBe("queued")
})

it("rule X13: a held call whose time has come waits for its program", () => {
  const words = (dueAt: number) => ConversationStatus.wordsOf({ kind: "waiting", dueAt }, 1_000, "holdfast-call-1")
  expect([words(61_000), words(1_000)]).toEqual(["waits 1 m 00 s", "waits for its program"])
})

it("a conversation without a turn, or whose turn could not be read, is shown all the same", () => {
  expect(ConversationStatus.of({ isBusy: false }, undefined)).toEqual({ kind: "empty" })
  expect(ConversationStatus.of({ isBusy: false, lastTurnId: turnId }, undefined)).toEqual({ kind: "unknown" })
  expect(ConversationStatus.of(busy, undefined)).toEqual({ kind: "streaming" })
})

it("a list has first what goes on now, then what ended last, whenever it was opened", () => {
  const moment = fc.nat(1_000)
  const turn = fc.option(fc.record({ acceptedAt: moment, endedAt: moment }, { requiredKeys: ["acceptedAt"] }), {
    nil: undefined
  })
  const entry = fc.record({ conversation: fc.record({ createdAt: moment, isBusy: fc.boolean() }), turn })
  fc.assert(
    fc.property(fc.array(entry), (entries) => {
      const listed = entries.toSorted(ConversationStatus.compare)
      const goesOn = listed.map(({ conversation, turn }) =>
        turn === undefined ? conversation.isBusy : turn.endedAt === undefined
      )
      const going = goesOn.filter(Boolean).length
      expect(goesOn).toEqual(listed.map((_, place) => place < going))
      const moments = listed.map(
        ({ conversation, turn }) => turn?.endedAt ?? turn?.acceptedAt ?? conversation.createdAt
      )
      const isDescending = (all: ReadonlyArray<number>) => all.every((at, i) => i === 0 || at <= (all[i - 1] ?? at))
      expect([moments.slice(0, going), moments.slice(going)].every(isDescending)).toBe(true)
    })
  )
})
