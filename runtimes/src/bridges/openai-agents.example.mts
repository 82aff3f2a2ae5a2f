/** An agent of the OpenAI Agents SDK that waits out an outage. */
// #region openai-agents
import { holdfast } from "@holdfast/openai-agents"
import { Agent, Runner } from "@openai/agents-core"
import { OpenAIProvider } from "@openai/agents-openai"

const modelProvider = holdfast(new OpenAIProvider(), {
  retry: "overnight",
  onRetry: ({ message, retryAt }) => console.log(`${message}: again at ${retryAt.toISOString()}`)
})
const runner = new Runner({ modelProvider })
const { finalOutput } = await runner.run(new Agent({ name: "Guide" }), "Why is the sky blue?")
// #endregion openai-agents

export { finalOutput }
