import { assert, describe, it } from "@effect/vitest"
import { ResponseLimit } from "@holdfast/kernel/host"
import { Ids } from "@holdfast/wire"
import { Effect, Stream } from "effect"
import type { HeldCall } from "../../src/conversation/HeldCalls.ts"
import type { Gates } from "../../src/gate/Gates.ts"
import type { Session } from "../../src/session/Session.ts"
import * as TurnLife from "../../src/session/TurnLife.ts"
import type { Conversation, Resumption } from "../../src/storage/Store.ts"
import type { Defaults } from "../../src/conversation/Defaults.ts"
import type { Providers } from "../../src/conversation/Providers.ts"
import * as TurnPlan from "../../src/turn/TurnPlan.ts"
import * as TurnSetting from "../../src/turn/TurnSetting.ts"

const conversation = (retry: Conversation["retry"]) => ({ retry }) as Conversation

const defaults = (retry: Defaults["Service"]["retry"]) => ({ retry }) as Defaults["Service"]

describe("the policy of a conversation", () => {
  it("rule C11: its own settings lower the limit of a response and do not raise it", () => {
    const limit = (own: number | undefined, configured?: number) =>
      TurnSetting.policyOf(
        conversation(own === undefined ? undefined : { maxResponseCharacters: own }),
        defaults(configured === undefined ? {} : { maxResponseCharacters: configured })
      ).maxResponseCharacters
    assert.deepStrictEqual(
      [limit(undefined), limit(undefined, 500), limit(100), limit(100, 500), limit(900, 500), limit(2 ** 28)],
      [undefined, 500, 100, 100, 500, ResponseLimit.MOST_CHARACTERS]
    )
    assert.strictEqual(
      TurnSetting.policyOf(conversation({ profile: "interactive" }), defaults({ maxResponseCharacters: 500 }))
        .maxResponseCharacters,
      500
    )
  })
})

describe("what follows when an answer breaks off", () => {
  it("rule X7: a submitted turn has `unseen` by default, and any other `fail`; a setting is for both", () => {
    const known = { defaults: { ...defaults({}), models: {} }, gates: {}, providers: { credentials: {} } }
    const services = { ...known, plans: TurnPlan.make(known.providers as Providers["Service"], known.defaults) }
    const of = (retry: Conversation["retry"], turn: object) => {
      const resumption = { conversation: { ...conversation(retry), model: "a/b" }, turn } as Resumption
      const given = services as Parameters<typeof TurnSetting.of>[0]
      return TurnSetting.of(given, {} as Session, {} as TurnLife.TurnLife, resumption, []).plan.policy.midStream
    }
    assert.deepStrictEqual([of(undefined, {}), of(undefined, { isSubmitted: true })], ["fail", "unseen"])
    for (const midStream of ["fail", "discard", "unseen"]) {
      assert.deepStrictEqual([of({ midStream }, {}), of({ midStream }, { isSubmitted: true })], [midStream, midStream])
    }
  })
})

describe("the turn of a held call", () => {
  it.effect("rule X1, X5: is at the gate of its first attempt, which the gate has had before", () =>
    Effect.gen(function* () {
      const request = {
        conversationId: Ids.ConversationId.make("c"),
        turnId: Ids.TurnId.make("t"),
        step: 0,
        attempt: 0,
        target: { provider: "a", model: "b" },
        messages: [],
        tools: []
      }
      const failure = { reason: "overloaded", message: "Overloaded", retryable: true } as const
      const held: HeldCall = { stream: () => Stream.empty, fits: () => true, first: { failure } }
      const gatekeeper = { begin: () => assert.fail("the attempt is reported again") }
      const known = { credentials: {}, names: [], held: () => held } as Partial<Providers["Service"]>
      const configured = { ...defaults({}), models: {} }
      const services = {
        defaults: configured,
        providers: known,
        plans: TurnPlan.make(known as Providers["Service"], configured),
        gates: { of: () => gatekeeper, limiterOf: () => undefined } as unknown as Gates["Service"]
      } as Parameters<typeof TurnSetting.of>[0]
      const turn = new TurnLife.TurnLife(request.turnId)
      const resumption = { conversation: { ...conversation(undefined), model: "a/b" }, turn: {} } as Resumption
      const { provider } = TurnSetting.of(services, {} as Session, turn, resumption, [])
      assert.deepStrictEqual(yield* Stream.runCollect(provider.stream(request)), [{ type: "error", failure }])
      assert.strictEqual<unknown>(turn.gatekeeper, gatekeeper)
    })
  )
})
