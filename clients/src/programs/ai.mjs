/** A client program over the AI SDK, with four providers. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { generateText, jsonSchema, stepCountIs, streamText, tool as define } from "ai"
import { apiKey, baseURL, kind, mode, print, prompt, run, signal, tool } from "./common.mjs"

const models = {
  openai: () => createOpenAI({ apiKey, baseURL })("gpt-5.1"),
  compatible: () => createOpenAICompatible({ apiKey, baseURL, name: "own" })("m"),
  anthropic: () => createAnthropic({ apiKey, baseURL })("claude-sonnet-4-5"),
  google: () => createGoogleGenerativeAI({ apiKey, baseURL })("gemini-2.5-pro")
}

await run(async () => {
  const call = { model: models[kind](), prompt, abortSignal: signal }
  if (mode === "document") return print((await generateText(call)).text)
  const shell = define({ description: tool.description, inputSchema: jsonSchema(tool.schema), execute: tool.run })
  const result = streamText({
    ...call,
    tools: { [tool.name]: shell },
    stopWhen: stepCountIs(5),
    onError: ({ error }) => {
      throw error
    }
  })
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") print(part.text)
    if (part.type === "error") throw part.error
  }
})
