/** A chat model of LangChain that waits out an outage. */
// #region langchain
import { holdfast } from "@holdfast/langchain"
import { ChatOpenAI } from "@langchain/openai"

const model = holdfast(new ChatOpenAI({ model: "gpt-5" }), {
  retry: "overnight",
  onRetry: ({ message, retryAt }) => console.log(`${message}: again at ${retryAt.toISOString()}`)
})
for await (const { text } of await model.stream("Why is the sky blue?")) process.stdout.write(text)
// #endregion langchain

export { model }
