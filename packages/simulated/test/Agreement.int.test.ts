/** Tests that the provider in this process and the adapters over its server behave the same. */
import { assert, describe, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { Cause, Effect, Exit, Option, Stream } from "effect"
import { Anthropic, OpenAiCompatible } from "@holdfast/providers"
import * as Fetch from "@holdfast/providers/fetch"
import * as Server from "../src/server/SimulatedServer.ts"
import * as Simulated from "../src/Simulated.ts"
import { request } from "./Request.ts"

const scripts = [
  "steady+instant",
  "reasoning+instant",
  'tool-call;name=look_up;input={"query":"tide"}',
  "refuse+instant",
  "429;retry-after=7",
  "overloaded",
  "rate-limit",
  "server-error",
  "unavailable",
  "timeout",
  "auth",
  "forbidden",
  "model",
  "too-long",
  "too-large",
  "bad-request",
  "502",
  "520",
  "html",
  "empty",
  "cut",
  "cut-after-3+instant",
  "ends-after-3+instant",
  "half-tool-call",
  "error-in-stream",
  "error-in-stream-after-3+instant",
  "not-a-script"
]

/** An attempt as a turn observes it: its content, its end, and its failure. */
const seen = (provider: Provider.Provider["Service"], model: string) =>
  Effect.gen(function* () {
    const content: Array<string> = []
    let end: string | undefined
    let failure: Provider.EmittedFailure | Failure.Failure | undefined
    const hear = (event: Provider.ProviderEvent) => {
      if (event.type === "text-delta" || event.type === "reasoning-delta") content.push(event.delta)
      if (event.type === "tool-call") content.push(event.toolName, JSON.stringify(event.input))
      if (event.type === "finish") end = `finished: ${event.finishReason}`
      if (event.type === "error") {
        end = "emitted"
        failure = event.failure
      }
    }
    const exit = yield* Effect.exit(
      Stream.runForEach(provider.stream(request({ model })), (event) => Effect.sync(() => hear(event)))
    )
    if (Exit.isFailure(exit)) {
      end = "thrown"
      failure = Option.getOrThrow(Cause.findErrorOption(exit.cause)).failure
    }
    return {
      content: content.join("|").replaceAll("|", ""),
      end,
      reason: failure?.reason,
      retryable: failure?.retryable,
      status: failure?.status,
      hint: failure?.hint
    }
  })

describe("Simulated, in this process and over a socket", () => {
  it.effect.each(scripts)("%s", (model) =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      const inProcess = yield* seen(yield* Simulated.make, model)
      const openai = yield* OpenAiCompatible.make({ baseUrl: `${url}/v1` })
      assert.deepStrictEqual(yield* seen(openai, model), inProcess, "OpenAI's format")
      const anthropic = yield* Anthropic.make({ baseUrl: `${url}/v1` })
      assert.deepStrictEqual(yield* seen(anthropic, model), inProcess, "Anthropic's format")
    }).pipe(Effect.provide(Fetch.layer))
  )
})
