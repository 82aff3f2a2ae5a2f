/**
 * A model of the AI SDK that waits out an outage. The simulated provider on a socket of this machine fails once, then answers.
 *
 * Run it: `npx pnpm@12 exec node examples/src/14-ai-sdk.ts`
 */
import * as SimulatedServer from "@holdfast/simulated/server"
import { Effect, Exit, Scope } from "effect"

const scope = Scope.makeUnsafe()
const server = await Effect.runPromise(Scope.provide(scope)(SimulatedServer.start({ script: "outage-1+instant" })))
process.env["OPENAI_BASE_URL"] = `${server.url}/v1`
process.env["OPENAI_API_KEY"] = "none is needed"

// #region ai-sdk
import { createOpenAI } from "@ai-sdk/openai"
import { holdfast } from "@holdfast/ai-sdk"
import { streamText, wrapLanguageModel } from "ai"

const openai = createOpenAI() // its key is in OPENAI_API_KEY
const model = wrapLanguageModel({
  model: openai.chat("gpt-5"), // or any other model of the AI SDK
  middleware: holdfast({
    retry: "interactive",
    onRetry: ({ message, retryAt }) => console.log(`${message}: again at ${retryAt.toISOString()}`)
  })
})
const { textStream } = streamText({ model, prompt: "Why is the sky blue?" })
for await (const text of textStream) process.stdout.write(text)
// #endregion ai-sdk

await Effect.runPromise(Scope.close(scope, Exit.void))
