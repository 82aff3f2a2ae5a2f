import { Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as BulkChoice from "../../src/bulk/BulkChoice.ts"

const turn = (
  id: string,
  status: BulkChoice.ChosenTurn["status"],
  model = "a/m",
  within = id
): BulkChoice.ChosenTurn => ({
  turnId: Ids.TurnId.make(id),
  conversationId: Ids.ConversationId.make(within),
  status,
  model
})

const outcome = (id: string, outcome: "done" | "idle" | "refused", message?: string) => ({
  turnId: Ids.TurnId.make(id),
  conversationId: Ids.ConversationId.make(id),
  outcome,
  ...(message === undefined ? {} : { message })
})

it("a command is for turns that it fits, each once, and of a conversation only the newest is retried", () => {
  const status = fc.constantFrom("queued", "running", "waiting", "completed", "failed", "aborted" as const)
  fc.assert(
    fc.property(fc.array(fc.tuple(status, fc.constantFrom("x", "y", "z"))), (drawn) => {
      const turns = drawn.map(([status, within], n) => turn(`t${n}`, status, "a/m", within))
      const choices = BulkChoice.choicesOf(turns)
      for (const { turns: chosen, verb } of choices) {
        expect(chosen.length).toBeGreaterThan(0)
        expect(new Set(chosen).size).toBe(chosen.length)
        for (const one of chosen) {
          expect(one.status).toBe(verb === "retry" ? "failed" : "waiting")
          if (verb === "retry") expect(turns.find((other) => other.conversationId === one.conversationId)).toBe(one)
        }
      }
      const waiting = turns.filter((turn) => turn.status === "waiting").length
      const given = choices.find(({ verb }) => verb === "abort-retry")?.turns.length ?? 0
      expect(given).toBe(waiting)
    })
  )
})

it("a confirmation names what happens, to how many turns, and where", () => {
  const waiting = [turn("1", "waiting"), turn("2", "waiting", "b/m"), turn("3", "waiting", "b/m")]
  expect(BulkChoice.endpointsOf(waiting)).toEqual([
    ["b/m", 2],
    ["a/m", 1]
  ])
  const ask = (verb: BulkChoice.Verb, turns: ReadonlyArray<BulkChoice.ChosenTurn>) =>
    BulkChoice.questionOf({ verb, turns })
  expect(ask("abort-retry", waiting)).toBe("Give up 3 turns that wait for 2 endpoints?")
  expect(ask("switch-target", waiting.slice(0, 1))).toBe("Switch 1 turn that waits for a/m?")
  expect(ask("retry", [turn("4", "failed"), turn("5", "failed")])).toBe("Retry 2 turns that failed at a/m?")
})

it("a result counts each outcome, and gives the reasons of refusals once each", () => {
  const outcomes = [
    outcome("1", "done"),
    outcome("2", "idle"),
    outcome("3", "refused", "No."),
    outcome("4", "refused", "No."),
    outcome("5", "refused", "Never.")
  ]
  expect(BulkChoice.resultOf("retry", outcomes, 7)).toBe(
    "1 turn retried, 1 had nothing to do any more, 3 refused, 2 left alone. 2 times: No. Never."
  )
  expect(BulkChoice.resultOf("abort-retry", [outcome("1", "done"), outcome("2", "done")], 2)).toBe("2 turns given up.")
})
