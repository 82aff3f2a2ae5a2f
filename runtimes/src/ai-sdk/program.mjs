/**
 * `streamText` with a tool, as a program has it: `program.mjs RUNS` with RUNS as JSON, `[{ "url": …, "variant": … }]`. The runs are made side by side;
 * prints what the program got of each, as JSON.
 */
import process from "node:process"
import { createOpenAI } from "@ai-sdk/openai"
import { holdfast } from "@holdfast/ai-sdk"
import { jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } from "ai"

/** A run that takes longer waits for ever. */
const LONGEST_MS = 30_000

const middleware = holdfast({
  retry: {
    schedule: { type: "steps", delays: ["100 millis"], tail: "100 millis" },
    requestTimeout: { firstContent: "3 seconds", idle: "3 seconds" }
  }
})

/** The options of each variant. Without limits of its own the AI SDK waits for a stall as long as the runtime's fetch does. */
const timeout = { firstChunkMs: 3_000, chunkMs: 3_000, stepMs: 10_000 }
const VARIANTS = {
  holdfast: {},
  default: { timeout },
  retries: { timeout, maxRetries: 5, streamRetries: 5 }
}

const run = async ({ url, variant }) => {
  const bare = createOpenAI({ baseURL: url, apiKey: "none" }).chat("m")
  const got = { text: "", toolRuns: 0, errors: [] }
  const begun = performance.now()
  const { fullStream } = streamText({
    model: variant === "holdfast" ? wrapLanguageModel({ model: bare, middleware }) : bare,
    ...VARIANTS[variant],
    prompt: "How is the weather?",
    stopWhen: stepCountIs(3),
    tools: {
      weather: tool({
        inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } } }),
        execute: ({ city }) => `${city}, run ${++got.toolRuns}`
      })
    },
    onError: () => {}
  })
  const read = async () => {
    try {
      for await (const part of fullStream) {
        if (part.type === "text-delta") got.text += part.text
        if (part.type === "error") got.errors.push(part.error?.name ?? "an error")
        if (part.type === "abort") got.errors.push("an abort")
      }
    } catch (error) {
      got.errors.push(error?.name ?? "an error")
    }
  }
  const stuck = new Promise((resolve) => setTimeout(() => resolve("stuck"), LONGEST_MS))
  if ((await Promise.race([read(), stuck])) === "stuck") got.errors.push("neither an answer nor an error")
  return { ...got, seconds: Math.round((performance.now() - begun) / 100) / 10 }
}

console.log(JSON.stringify(await Promise.all(JSON.parse(process.argv[2]).map(run))))
process.exit(0)
