/** A client program over the SDK of OpenAI: chat completions and responses. */
import OpenAI from "openai"
import { apiKey, baseURL, kind, mode, print, prompt, run, signal, tool } from "./common.mjs"

const client = new OpenAI({ apiKey, baseURL })
const model = "gpt-5.1"
const { description, name, schema } = tool

const chat = async () => {
  const messages = [{ role: "user", content: prompt }]
  if (mode === "document") {
    const answer = await client.chat.completions.create({ model, messages }, { signal })
    return print(answer.choices[0].message.content)
  }
  const runner = client.chat.completions.runTools(
    {
      model,
      stream: true,
      messages,
      tools: [
        {
          type: "function",
          function: { name, description, parameters: schema, parse: JSON.parse, function: (input) => tool.run(input) }
        }
      ]
    },
    { signal }
  )
  runner.on("content", print)
  await runner.done()
}

const responses = async () => {
  if (mode === "document") {
    const answer = await client.responses.create({ model, input: prompt }, { signal })
    return print(answer.output_text)
  }
  const tools = [{ type: "function", name, description, parameters: schema, strict: true }]
  const input = [{ role: "user", content: prompt }]
  while (true) {
    const stream = client.responses.stream({ model, input, tools }, { signal })
    stream.on("response.output_text.delta", ({ delta }) => print(delta))
    const { output } = await stream.finalResponse()
    const calls = output.filter(({ type }) => type === "function_call")
    if (calls.length === 0) return
    for (const { arguments: given, call_id, name } of calls) {
      input.push({ type: "function_call", call_id, name, arguments: given })
      input.push({ type: "function_call_output", call_id, output: tool.run(JSON.parse(given)) })
    }
  }
}

await run(kind === "chat" ? chat : responses)
