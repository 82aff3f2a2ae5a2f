/** Tests the ids and the policies of held calls. */
import { describe, expect, it } from "@effect/vitest"
import { Profile } from "@holdfast/policy"
import { Ids } from "@holdfast/wire"
import * as HeldCalls from "../../../src/engine/conversation/HeldCalls.ts"
import * as HeldCallIds from "../../../src/storage/HeldCallIds.ts"

describe("the turn of a held call", () => {
  it("rule X13: has an id from before its conversation, which is drawn when the first attempt has failed", () => {
    const key = "k-".repeat(HeldCallIds.KEY_LENGTH / 2)
    const turnId = HeldCallIds.turn(1_700_000_000_000, "1a2b3c4d")
    const conversationId = HeldCallIds.make(key, turnId, "5e6f")
    expect(HeldCallIds.turnOf(conversationId)).toBe(turnId)
    expect(HeldCallIds.read(conversationId)).toEqual({ key, since: 1_700_000_000_000 })
    expect(HeldCallIds.isHeld(HeldCallIds.draft(Ids.TurnId.make("call-1")))).toBe(true)
  })

  it("rule X13: shares the policy of others of its route, which goes on to targets of its own format alone", () => {
    const policy = Profile.resolve({})
    const target = (model: string) => ({ provider: "own", model })
    const chains = { "own/a": [target("b"), target("c")] }
    const routed = { ...policy, routing: { type: "fallback-chain", revert: "never", cooldownMs: 0, chains } } as const
    const of = (route: string, model: string) =>
      HeldCalls.policyOf(routed, { route, fits: (target) => target.model === model })
    expect(of("own chat", "c").routing).toMatchObject({ chains: { "own/a": [target("c")] } })
    expect(of("own chat", "c")).toBe(of("own chat", "c"))
    expect(of("own responses", "b").routing).toMatchObject({ chains: { "own/a": [target("b")] } })
  })
})
