import { assert, describe, it } from "@effect/vitest"
import { ResponseLimit } from "@holdfast/kernel/host"
import type { Session } from "../../../src/engine/session/Session.ts"
import type * as TurnLife from "../../../src/engine/session/TurnLife.ts"
import type { Conversation, Resumption } from "../../../src/storage/Stored.ts"
import type { Defaults } from "../../../src/engine/conversation/Defaults.ts"
import type { Providers } from "../../../src/engine/conversation/Providers.ts"
import * as TurnPlan from "../../../src/engine/turn/TurnPlan.ts"
import * as TurnSetting from "../../../src/engine/turn/TurnSetting.ts"

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
    const providers = { credentials: {} } as Providers["Service"]
    const known = { defaults: { ...defaults({}), models: {} }, gates: {}, providers, patiently: () => undefined }
    const services = { ...known, plans: TurnPlan.make(providers) }
    const failure = { reason: "network", message: "It broke off.", retryable: true } as const
    const of = (retry: Conversation["retry"], turn: object) => {
      const resumption = { conversation: { ...conversation(retry), model: "a/b" }, turn } as Resumption
      const given = services as unknown as Parameters<typeof TurnSetting.of>[0]
      const { strategy } = TurnSetting.of(given, {} as Session, {} as TurnLife.TurnLife, resumption, [])
      return strategy.midStream?.(failure)
    }
    assert.deepStrictEqual([of(undefined, {}), of(undefined, { isSubmitted: true })], ["fail", "unseen"])
    for (const midStream of ["fail", "discard", "unseen"]) {
      assert.deepStrictEqual([of({ midStream }, {}), of({ midStream }, { isSubmitted: true })], [midStream, midStream])
    }
  })
})
