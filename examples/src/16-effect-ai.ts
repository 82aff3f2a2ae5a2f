/**
 * A language model of Effect AI that waits out an outage. The simulated provider, as a model of Effect AI, fails once, then answers.
 *
 * Run it: `npx pnpm@12 exec node examples/src/16-effect-ai.ts`
 */
import { model } from "@holdfast/effect-ai"
import { Simulated } from "@holdfast/simulated"

const simulated = await Effect.runPromise(Simulated.make)
const OpenAiModel = model(simulated, { provider: "simulated", model: "outage-1+instant" })

// #region effect-ai
import { holdfast } from "@holdfast/effect-ai"
import { Effect, Stream } from "effect"
import { LanguageModel } from "effect/ai"

// The layer of any language model, such as OpenAiLanguageModel.model("gpt-5")
const Patient = holdfast(OpenAiModel, {
  retry: "interactive",
  onRetry: ({ message, retryAt }) => console.log(`${message}: again at ${retryAt.toISOString()}`)
})
const answer = LanguageModel.streamText({ prompt: "Why is the sky blue?" }).pipe(
  Stream.runForEach((part) => Effect.sync(() => part.type === "text-delta" && process.stdout.write(part.delta)))
)
await Effect.runPromise(Effect.provide(answer, Patient))
// #endregion effect-ai
