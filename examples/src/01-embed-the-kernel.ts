/**
 * A turn in a program of one's own: any async iterable as the provider, a policy, and events as they come.
 *
 * Run it: `npx pnpm@12 exec node examples/src/01-embed-the-kernel.ts`
 */
// #region embed
import { Checkpoint, EventSink, Provider, Toolbox, Turn } from "@holdfast/kernel"
import { Profile, RetryStrategies } from "@holdfast/policy"
import { FromAsyncIterable } from "@holdfast/providers"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"

let calls = 0

/** Fails once, then answers. A real one would call your model, and throw whatever its SDK throws. */
async function* myModel(): AsyncIterable<Provider.ProviderEvent> {
  if (calls++ === 0) throw Object.assign(new Error("Overloaded"), { status: 529 })
  for (const word of ["Still ", "here."]) yield { type: "text-delta", delta: word }
  yield { type: "finish", finishReason: "stop" }
}

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
    Layer.succeed(Provider.Provider, FromAsyncIterable.fromAsyncIterable(myModel)),
    Layer.succeed(EventSink.EventSink, {
      live: (event) => console.log(event.type, "delta" in event ? event.delta : ""),
      persist: (events) => Effect.sync(() => events.forEach((event) => console.log(event.type)))
    }),
    RetryStrategies.layer(policy, RetryStrategies.sleepInMemory),
    Checkpoint.layerMemory,
    Toolbox.layerNoop
  ])
)

const end = await Effect.runPromise(turn)
console.log(`${end.status} after ${end.attempts} attempts`)
// #endregion embed
