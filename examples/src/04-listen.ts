/**
 * A listener to a turn: attempts, waits and its end, for counts, traces and alerts.
 *
 * Run it: `npx pnpm@12 exec node examples/src/04-listen.ts`
 */
import { Checkpoint, EventSink, Observer, Provider, Toolbox, Turn } from "@holdfast/kernel"
import { Profile, RetryStrategies } from "@holdfast/policy"
import { FromAsyncIterable } from "@holdfast/providers"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"

let calls = 0

async function* myModel(): AsyncIterable<Provider.ProviderEvent> {
  if (calls++ === 0) throw Object.assign(new Error("Overloaded"), { status: 529 })
  yield { type: "text-delta", delta: "Here." }
  yield { type: "finish", finishReason: "stop" }
}

// #region listen
const observer = Observer.all([
  { attempt: ({ target, outcome, startedAt }) => console.log(target.model, outcome._tag, startedAt, outcome.endedAt) },
  Observer.on({
    "provider-retry": ({ message, retryAt }) => console.log(`${message}: again at ${new Date(retryAt).toISOString()}`),
    "model-change": ({ from, to }) => console.log(`${to} instead of ${from}`),
    "turn-end": ({ status, attempts }) => console.log(`${status} after ${attempts} attempts`)
  })
])

const listening = Layer.succeed(Observer.Observer, observer) // beside the other ports of the turn
// #endregion listen

const policy = Profile.resolve({ profile: "interactive" })

const turn = Turn.runTurn({
  conversationId: Ids.ConversationId.make("demo"),
  turnId: Ids.TurnId.make("turn-1"),
  target: { provider: "mine", model: "my-model" },
  history: [],
  prompt: "Are you there?",
  startedAt: Date.now()
}).pipe(
  Effect.provide([
    listening,
    Layer.succeed(Provider.Provider, FromAsyncIterable.fromAsyncIterable(myModel)),
    Layer.succeed(EventSink.EventSink, { live: () => {}, persist: () => Effect.void }),
    RetryStrategies.layer(policy, RetryStrategies.sleepInMemory),
    Checkpoint.layerMemory,
    Toolbox.layerNoop
  ])
)

await Effect.runPromise(turn)
