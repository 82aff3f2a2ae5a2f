/**
 * A turn that goes on elsewhere: two models of one's own, a fallback chain, and what is known of the first kept for the next turn.
 *
 * Run it: `npx pnpm@12 exec node examples/src/03-fall-back.ts`
 */
import { Checkpoint, EventSink, Provider, Toolbox, Turn } from "@holdfast/kernel"
import { Profile, RetryStrategies, Routers } from "@holdfast/policy"
import { FromAsyncIterable } from "@holdfast/providers"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"

/** `first` is overloaded; `second` answers. A request names its target. */
async function* myModels({ target }: Provider.ProviderRequest): AsyncIterable<Provider.ProviderEvent> {
  console.log(`asks ${target.provider}/${target.model}`)
  if (target.provider === "first") throw Object.assign(new Error("Overloaded"), { status: 529 })
  yield { type: "text-delta", delta: "Here." }
  yield { type: "finish", finishReason: "stop" }
}

// #region fall-back
const policy = Profile.resolve({ routing: { type: "fallback-chain", chains: { default: ["second/model"] } } })

const patience = Layer.mergeAll(
  RetryStrategies.layer(policy, RetryStrategies.sleepInMemory),
  Routers.layerMemory(policy) // cooldowns, for all turns that run on this layer
)
// #endregion fall-back

const services = Layer.mergeAll(
  patience,
  Layer.succeed(Provider.Provider, FromAsyncIterable.fromAsyncIterable(myModels)),
  Layer.succeed(EventSink.EventSink, {
    live: () => undefined,
    persist: (events) => Effect.sync(() => events.forEach((event) => console.log(`  ${event.type}`)))
  }),
  Checkpoint.layerMemory,
  Toolbox.layerNoop
)

const turn = (turnId: string) =>
  Turn.runTurn({
    conversationId: Ids.ConversationId.make("demo"),
    turnId: Ids.TurnId.make(turnId),
    target: { provider: "first", model: "model" },
    history: [],
    prompt: "Are you there?",
    startedAt: Date.now()
  })

// The second turn does not ask the first model: that is cooling down.
await Effect.runPromise(Effect.provide(Effect.andThen(turn("turn-1"), turn("turn-2")), services))
