/** A client program over the SDK of Anthropic, with its tool runner. */
import Anthropic from "@anthropic-ai/sdk"
import { apiKey, baseURL, kind, mode, print, prompt, run, signal, tool } from "./common.mjs"

const client = new Anthropic({ apiKey, baseURL })
const request = { model: "claude-sonnet-4-5", max_tokens: 1_000, messages: [{ role: "user", content: prompt }] }

await run(async () => {
  if (mode === "document") {
    const answer = await client.messages.create(request, { signal })
    return print(answer.content[0].text)
  }
  if (mode === "crowd") {
    const calls = Array.from({ length: Number(kind) }, () => client.messages.stream(request, { signal }).finalText())
    return print((await Promise.all(calls)).join("\n"))
  }
  const { description, name, schema: input_schema } = tool
  const shell = { name, description, input_schema, run: tool.run, parse: (input) => input }
  for await (const stream of client.beta.messages.toolRunner(
    { ...request, tools: [shell], stream: true },
    { signal }
  )) {
    stream.on("text", print)
    await stream.done()
  }
})
