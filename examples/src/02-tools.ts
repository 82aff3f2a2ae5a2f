/**
 * Tools in a program of one's own: a schema for the arguments, a function that returns an Effect.
 *
 * Run it: `npx pnpm@12 exec node examples/src/02-tools.ts`
 */
import { Checkpoint, EventSink, Provider, Tool, Turn } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"
import { Effect, Layer, Schema, Stream } from "effect"

// #region tools
const weather = Tool.make({
  name: "weather",
  description: "The weather in a city, now",
  input: Schema.Struct({ city: Schema.String }),
  isIdempotent: true, // a crash in the middle of it: it is run again
  run: ({ city }) =>
    city === "Atlantis" ? Effect.fail(new Error(`${city} is under water`)) : Effect.succeed({ city, sky: "grey" })
})

const tools = Tool.layer(weather) // the model gets the JSON Schema; it also gets what is wrong with its arguments, and failures
// #endregion tools

/** Stands for a model: it asks for the weather of three cities, one of them wrongly, and then reads the answers out. */
const model: Provider.Provider["Service"] = {
  stream: ({ messages, step }) => {
    if (step > 0) {
      const results = messages.flatMap((message) => (message.role === "tool" ? message.content : []))
      const deltas = results.map(
        ({ output }) => ({ type: "text-delta", delta: `${JSON.stringify(output)}\n` }) as const
      )
      return Stream.make(...deltas, { type: "finish", finishReason: "stop" } as const)
    }
    const ask = (toolCallId: string, input: Schema.Json) =>
      ({ type: "tool-call", toolCallId, toolName: "weather", input }) as const
    const calls = [ask("1", { city: "Bergen" }), ask("2", { town: "Bergen" }), ask("3", { city: "Atlantis" })]
    return Stream.make(...calls, { type: "finish", finishReason: "tool-calls" } as const)
  }
}

const turn = Turn.runTurn({
  conversationId: Ids.ConversationId.make("demo"),
  turnId: Ids.TurnId.make("turn-1"),
  target: { provider: "mine", model: "my-model" },
  history: [],
  prompt: "How is the weather?",
  startedAt: Date.now()
}).pipe(
  Effect.provide([
    tools,
    Layer.succeed(Provider.Provider, model),
    Layer.succeed(EventSink.EventSink, {
      live: (event) => void (event.type === "text-delta" && console.log(event.delta.trimEnd())),
      persist: () => Effect.void
    }),
    Checkpoint.layerMemory
  ])
)

console.log((await Effect.runPromise(turn)).status)
