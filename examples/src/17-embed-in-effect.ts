/**
 * A turn in an Effect program, over the kernel's ports: the model, the sink of events, the policy, the records and the tools.
 *
 * Run it: `npx pnpm@12 exec node examples/src/17-embed-in-effect.ts`
 */
import { EventSink, Provider } from "@holdfast/kernel"
import { FromAsyncIterable } from "@holdfast/providers"
import { Ids } from "@holdfast/wire"
import * as Layer from "effect/Layer"

let calls = 0

/** Fails once, then answers. `OpenAiCompatible` and `Anthropic` of `@holdfast/providers` call real ones. */
const myModel = Layer.succeed(
  Provider.Provider,
  FromAsyncIterable.fromAsyncIterable(async function* () {
    if (calls++ === 0) throw Object.assign(new Error("Overloaded"), { status: 529 })
    yield { type: "text-delta", delta: "Still here." } as const
    yield { type: "finish", finishReason: "stop" } as const
  })
)
const mySink = Layer.succeed(EventSink.EventSink, {
  live: (event) => console.log(event.type),
  persist: (events) => Effect.sync(() => events.forEach(({ type }) => console.log(type)))
})
const ids = { conversationId: Ids.ConversationId.make("demo"), turnId: Ids.TurnId.make("turn-1") }
const target = { provider: "mine", model: "my-model" }

// #region effect
import { Checkpoint, Toolbox, Turn } from "@holdfast/kernel"
import { Profile, RetryStrategies } from "@holdfast/policy"
import * as Effect from "effect/Effect"

const patience = RetryStrategies.layer(Profile.resolve({ profile: "interactive" }), RetryStrategies.sleepInMemory)
const turn = Turn.runTurn({ ...ids, target, history: [], prompt: "Are you there?", startedAt: Date.now() })
const { status, attempts } = await turn.pipe(
  Effect.provide([myModel, mySink, patience, Checkpoint.layerMemory, Toolbox.layerNoop]),
  Effect.runPromise
)
console.log(`${status} after ${attempts} attempts`)
// #endregion effect
