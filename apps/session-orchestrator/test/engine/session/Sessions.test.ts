import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect } from "effect"
import { Sessions } from "../../../src/engine/session/Session.ts"

const id = Ids.ConversationId.make("c")

describe("the sessions", () => {
  it.effect("keep a session while it has a holder, and give all holders the same", () =>
    Effect.gen(function* () {
      const sessions = new Sessions()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const one = yield* sessions.hold(id)
          yield* Effect.scoped(Effect.map(sessions.hold(id), (other) => assert.strictEqual(other, one)))
          assert.strictEqual(sessions.find(id), one)
        })
      )
      assert.isUndefined(sessions.find(id))
    })
  )

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
