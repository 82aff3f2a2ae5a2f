/** The service over a database whose thread dies. */
import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Fiber, Layer, Stream } from "effect"
import * as Composition from "../../src/Composition.ts"
import { Config } from "../../src/config/Config.ts"
import { Conversations } from "../../src/conversation/Conversations.ts"
import { Store } from "../../src/storage/Store.ts"
import { Start } from "../../src/storage/thread/Start.ts"
import * as Given from "../config/Given.ts"
import { temporaryFile } from "../storage/TemporaryFile.ts"
import * as Trouble from "../storage/thread/Trouble.ts"
import { Unruly } from "../storage/thread/Unruly.ts"

const turnId = Ids.TurnId.make("one")

/** Conversations on a file whose thread can be halted and killed, and a new one of them. */
const given = Effect.gen(function* () {
  const unruly = new Unruly()
  const values = Given.config({ file: { model: "simulated/steady+instant+tokens-5" } })
  const config = { ...values, database: { ...values.database, path: yield* temporaryFile } }
  const context = yield* Layer.build(
    Composition.held.pipe(Layer.provide([Layer.succeed(Config, config), Layer.succeed(Start, unruly.start)]))
  )
  return yield* Effect.gen(function* () {
    const conversations = yield* Conversations
    return { conversations, store: yield* Store, unruly, id: yield* conversations.create({}) }
  }).pipe(Effect.provideContext(context))
})

describe("a database whose thread dies", () => {
  it.live("a turn whose acceptance nobody heard of is run when it is handed in again", () =>
    Effect.gen(function* () {
      const { conversations, id, store, unruly } = yield* given
      unruly.expect(Trouble.AFTER_COMMIT)
      const unheard = yield* Effect.forkChild(Effect.flip(conversations.prompt(id, { prompt: "Hello", turnId })))
      yield* unruly.halted
      yield* unruly.kill
      expect((yield* Fiber.join(unheard)).message).toContain("has died")

      expect(yield* conversations.prompt(id, { prompt: "Hello", turnId })).toBe(turnId)
      const events = yield* Stream.runCollect(conversations.watchTurn(turnId))
      expect(events.flatMap(({ id }) => id ?? [])).toEqual((yield* store.turnEvents(turnId)).map(({ id }) => id))
      expect((yield* conversations.result(turnId)).end.status).toBe("completed")
      expect((yield* conversations.messages(id)).map(({ role }) => role)).toEqual(["user", "assistant"])
    })
  )

  it.live("K3: a turn whose record or event may be there writes it again, and goes on", () =>
    Effect.gen(function* () {
      const { conversations, id, unruly } = yield* given
      yield* conversations.prompt(id, { prompt: "Hello", turnId })
      unruly.expect(Trouble.AFTER_COMMIT)
      yield* unruly.halted
      yield* unruly.kill
      expect((yield* conversations.result(turnId)).end.status).toBe("completed")
      expect((yield* conversations.messages(id)).map(({ role }) => role)).toEqual(["user", "assistant"])
    })
  )
})
