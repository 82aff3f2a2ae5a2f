/**
 * One attempt at an endpoint, without a turn. Here the endpoint is the simulated one, on a socket of this machine.
 *
 * Run it: `npx pnpm@12 exec node examples/src/08-call-a-model.ts`
 */
// #region call
import { Limits, OpenAiCompatible } from "@holdfast/providers"
import * as Server from "@holdfast/simulated/server"
import * as Undici from "@holdfast/providers/undici"
import { Ids } from "@holdfast/wire"
import { Effect, Redacted, Stream } from "effect"

const program = Effect.gen(function* () {
  const { url } = yield* Server.start()
  const endpoint = yield* OpenAiCompatible.make({ baseUrl: `${url}/v1`, apiKey: Redacted.make("none is needed") })
  const provider = Limits.withLimits(endpoint, { firstContentMs: 600_000, idleMs: 120_000 })
  const request = {
    conversationId: Ids.ConversationId.make("demo"),
    turnId: Ids.TurnId.make("turn-1"),
    step: 0,
    attempt: 0,
    target: { provider: "simulated", model: "outage-1+instant" }, // overloaded once, then it answers
    messages: [
      {
        role: "user" as const,
        id: Ids.messageIdOf(Ids.TurnId.make("turn-1"), 0),
        turnId: Ids.TurnId.make("turn-1"),
        createdAt: 0,
        content: [{ type: "text" as const, text: "Hello" }]
      }
    ],
    tools: []
  }
  for (const attempt of [0, 1]) {
    const events = yield* Stream.runCollect(provider.stream({ ...request, attempt }))
    for (const event of events) {
      if (event.type === "error") console.log(event.failure.reason)
      if (event.type === "text-delta") console.log(event.delta)
    }
  }
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(Undici.layer)))
// #endregion call
