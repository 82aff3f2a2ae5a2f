import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import * as Turns from "../../src/cli/turns/Turns.ts"
import type { TurnReport } from "../../src/insight/inspection/TurnReport.ts"

const turn = (id: string, over: Partial<TurnReport>): TurnReport => ({
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make(id),
  state: "completed",
  model: "a/m",
  acceptedAt: 0,
  ageMs: 0,
  attempts: 1,
  ...over
})

const turns = [
  turn("old", { endedAt: 10 }),
  turn("failed", { state: "failed", endedAt: 50, model: "b/m" }),
  turn("waiting", { state: "waiting", acceptedAt: 5 }),
  turn("new", { acceptedAt: 60, endedAt: 70, model: "ab/m" })
]

const ALL: Turns.Filter = { failed: false, since: undefined, model: undefined, limit: undefined }

const ids = (filter: Partial<Turns.Filter>) =>
  Turns.filtered(turns, { ...ALL, ...filter }).map(({ turnId }) => String(turnId))

describe("the printed turns", () => {
  it("are all turns without conditions", () => assert.deepStrictEqual(ids({}), ["old", "failed", "waiting", "new"]))
  it("are those that failed", () => assert.deepStrictEqual(ids({ failed: true }), ["failed"]))
  it("are those that ended since then, or have not ended", () => {
    assert.deepStrictEqual(ids({ since: 50 }), ["failed", "waiting", "new"])
    assert.deepStrictEqual(ids({ since: 51 }), ["waiting", "new"])
  })
  it("are those of a model, or of a provider", () => {
    assert.deepStrictEqual(ids({ model: "b/m" }), ["failed"])
    assert.deepStrictEqual(ids({ model: "a" }), ["old", "waiting"])
  })
  it("are the newest, up to the limit", () => assert.deepStrictEqual(ids({ limit: 2 }), ["waiting", "new"]))
})
