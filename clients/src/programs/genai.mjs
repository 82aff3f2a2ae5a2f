/** A client program over the SDK of Google. */
import { GoogleGenAI } from "@google/genai"
import { apiKey, baseURL, mode, print, prompt, run, signal, tool } from "./common.mjs"

const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: baseURL } })
const model = "gemini-2.5-pro"

await run(async () => {
  if (mode === "document") {
    const answer = await client.models.generateContent({ model, contents: prompt, config: { abortSignal: signal } })
    return print(answer.text)
  }
  const { description, name, schema: parametersJsonSchema } = tool
  const tools = [{ functionDeclarations: [{ name, description, parametersJsonSchema }] }]
  const contents = [{ role: "user", parts: [{ text: prompt }] }]
  while (true) {
    const stream = await client.models.generateContentStream({
      model,
      contents,
      config: { tools, abortSignal: signal }
    })
    const calls = []
    for await (const chunk of stream) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
        if (part.text) print(part.text)
        if (part.functionCall) calls.push(part.functionCall)
      }
    }
    if (calls.length === 0) return
    contents.push({ role: "model", parts: calls.map((functionCall) => ({ functionCall })) })
    contents.push({
      role: "user",
      parts: calls.map(({ args, id, name }) => ({
        functionResponse: { id, name, response: { output: tool.run(args) } }
      }))
    })
  }
})
