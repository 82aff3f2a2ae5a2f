import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Sessions } from "../../../src/engine/session/Session.ts"

const id = Ids.ConversationId.make("c")

describe("the sessions", () => {
  it("do not lose a session when its predecessor is released again", () => {
    const sessions = new Sessions()
    const old = sessions.wake(id)
    sessions.release(old)
    const young = sessions.wake(id)
    assert.notStrictEqual(young, old)
    sessions.release(old)
    assert.strictEqual(sessions.find(id), young)
  })
})
