/**
 * A retry strategy without a policy: a schedule, a sleep and a budget.
 *
 * Run it: `npx pnpm@12 exec node examples/src/20-a-strategy-of-your-own.ts`
 */
import { Checkpoint, EventSink, Provider, RetryStrategy, Toolbox, Turn } from "@holdfast/kernel"
import { FromAsyncIterable } from "@holdfast/providers"
import { Ids } from "@holdfast/wire"
import { Duration, Effect, Layer } from "effect"

/** Is overloaded for two calls, then answers. */
let calls = 0
async function* myModel(): AsyncIterable<Provider.ProviderEvent> {
  if (calls++ < 2) throw Object.assign(new Error("Overloaded"), { status: 529 })
  yield { type: "text-delta", delta: "Here." }
  yield { type: "finish", finishReason: "stop" }
}

// #region strategy
const patience = Layer.succeed(RetryStrategy.RetryStrategy, {
  delayFor: (attempt) => (attempt < 10 ? Duration.millis(100 * 2 ** attempt) : undefined), // undefined: give up
  sleep: (delay) => Effect.sleep(delay),
  budget: { totalMs: 60_000, measure: "scheduled" } // a wait that does not fit into it is refused
})
// #endregion strategy

const turn = Turn.runTurn({
  conversationId: Ids.ConversationId.make("demo"),
  turnId: Ids.TurnId.make("turn-1"),
  target: { provider: "mine", model: "my-model" },
  history: [],
  prompt: "Are you there?",
  startedAt: Date.now()
}).pipe(
  Effect.provide([
    Layer.succeed(Provider.Provider, FromAsyncIterable.fromAsyncIterable(myModel)),
    Layer.succeed(EventSink.EventSink, {
      live: (event) => event.type === "provider-retry" && console.log(`again in ${event.delayMs} ms`),
      persist: () => Effect.void
    }),
    patience,
    Checkpoint.layerMemory,
    Toolbox.layerNoop
  ])
)

const end = await Effect.runPromise(turn)
console.log(`${end.status} after ${end.attempts} attempts`)
