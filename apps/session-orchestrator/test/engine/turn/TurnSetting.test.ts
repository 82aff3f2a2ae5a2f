import { assert, describe, it } from "@effect/vitest"
import { ResponseLimit } from "@holdfast/kernel/host"
import type { Conversation } from "../../../src/storage/Stored.ts"
import type { Defaults } from "../../../src/engine/conversation/Defaults.ts"
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
    const configured = defaults({ maxResponseCharacters: 500 })
    const policy = TurnSetting.policyOf(conversation({ profile: "interactive" }), configured)
    assert.strictEqual(policy.maxResponseCharacters, 500)
  })
})
