/** A client program over LangChain, with the models of OpenAI and Anthropic. */
import { ChatAnthropic } from "@langchain/anthropic"
import { HumanMessage, ToolMessage } from "@langchain/core/messages"
import { tool as define } from "@langchain/core/tools"
import { ChatOpenAI } from "@langchain/openai"
import { apiKey, baseURL, kind, mode, print, prompt, run, signal, tool } from "./common.mjs"

const model =
  kind === "openai"
    ? new ChatOpenAI({ apiKey, model: "gpt-4o", configuration: { baseURL } })
    : // It retries what was aborted, too: by its default for a minute and a half.
      new ChatAnthropic({ apiKey, model: "claude-sonnet-4-5", anthropicApiUrl: baseURL, maxRetries: 2 })

await run(async () => {
  if (mode === "document") return print((await model.invoke(prompt, { signal })).text)
  const shell = define(tool.run, { name: tool.name, description: tool.description, schema: tool.schema })
  const withTools = model.bindTools([shell])
  const messages = [new HumanMessage(prompt)]
  while (true) {
    let answer
    for await (const chunk of await withTools.stream(messages, { signal })) {
      print(chunk.text)
      answer = answer === undefined ? chunk : answer.concat(chunk)
    }
    if (answer.tool_calls.length === 0) return
    messages.push(answer)
    for (const call of answer.tool_calls)
      messages.push(new ToolMessage({ tool_call_id: call.id, content: await shell.invoke(call.args) }))
  }
})
