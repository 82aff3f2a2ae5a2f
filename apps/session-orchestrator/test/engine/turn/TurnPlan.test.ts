/** Tests what turns of one policy share. */
import { assert, describe, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Profile } from "@holdfast/policy"
import { Ids } from "@holdfast/wire"
import { Stream } from "effect"
import type { Providers } from "../../../src/engine/conversation/Providers.ts"
import * as TurnPlan from "../../../src/engine/turn/TurnPlan.ts"
import * as It from "../../It.ts"

const policy = Profile.resolve({})
const request: Provider.ProviderRequest = {
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  step: 0,
  attempt: 0,
  target: { provider: "test", model: "m" },
  messages: [],
  tools: []
}

/** The configured providers: this one, by every name. */
const providers = (provider: ReturnType<typeof ScriptedProvider.make>): Providers["Service"] => ({
  get: () => provider,
  names: ["test"],
  unusable: () => undefined,
  credentials: {}
})

describe("the plans of an orchestrator", () => {
  it("turns of one policy share a plan, and those that are submitted another", () => {
    const plans = TurnPlan.make(providers(ScriptedProvider.make([])))
    for (const isSubmitted of [false, true]) assert.strictEqual(plans(policy, isSubmitted), plans(policy, isSubmitted))
    assert.notStrictEqual(plans(policy, true), plans(policy, false))
  })

  It.effect("each orchestrator calls its own providers, whichever plan the turns before had", function* () {
    const [first, second] = [1, 2].map(() => ScriptedProvider.make([1, 2, 3].map(() => ScriptedProvider.answer("x"))))
    if (first === undefined || second === undefined) return assert.fail()
    const configured = providers(first)
    const one = TurnPlan.make(configured)
    const two = TurnPlan.make({ ...configured, get: () => second })
    const call = (plans: TurnPlan.TurnPlans, isSubmitted: boolean) =>
      Stream.runDrain(plans(policy, isSubmitted).provider.stream(request))
    for (const isSubmitted of [false, true, false]) yield* call(one, isSubmitted)
    yield* call(two, false)
    assert.deepStrictEqual([first.requests.length, second.requests.length], [3, 1])
  })
})

it("the most retries: a number that is set wins, the budget counts otherwise, and without an end there is none", () => {
  assert.strictEqual(TurnPlan.mostRetriesOf(Profile.resolve({ profile: "interactive" })), 3)
  const overnight = Profile.resolve(undefined)
  assert.strictEqual(TurnPlan.mostRetriesOf(overnight), 21)
  assert.strictEqual(TurnPlan.mostRetriesOf({ ...overnight, enabled: false }), 21)
  assert.strictEqual(TurnPlan.mostRetriesOf({ ...overnight, budget: { ...overnight.budget, totalMs: 20_000 } }), 2)
  assert.strictEqual(TurnPlan.mostRetriesOf({ ...overnight, counts: "attempts", maxRetries: 4 }), 3)
  assert.strictEqual(TurnPlan.mostRetriesOf({ ...overnight, budget: { measure: "scheduled", clip: false } }), undefined)
})
