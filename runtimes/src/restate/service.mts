/**
 * A service of Restate whose turns call the scripted endpoint: `service.mts PORT ENDPOINT`.
 *
 * Each turn's prompt names its script (`Endpoint.ts`). Prints `waiting TURN RETRY_AT` at each wait.
 */
import process from "node:process"
import { tool, type Model } from "holdfast"

const [port, endpoint] = process.argv.slice(2)
const call = (path: string, body: unknown, signal: AbortSignal) =>
  fetch(`${endpoint}${path}`, { method: "POST", body: JSON.stringify(body), signal })

const model: Model = async function* ({ messages, signal, turnId }) {
  const [prompt] = messages[0]?.content ?? []
  const script = prompt?.type === "text" ? prompt.text : ""
  const results = messages.flatMap(({ content }) => content.filter((part) => part.type === "tool-result"))
  const response = await call(`model/${script}/${turnId}`, results, signal)
  if (!response.ok || response.body === null) throw Object.assign(new Error("Overloaded"), { status: response.status })
  let rest = ""
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) yield JSON.parse(line)
  }
}
const counted = (name: string, idempotent: boolean) =>
  tool({
    idempotent,
    execute: async (_, { signal, toolCallId }) => (await call(`tool/${name}/${toolCallId}`, null, signal)).text()
  })
const tools = { pay: counted("pay", false), look: counted("look", true), send: counted("send", false) }
const retry = { schedule: { type: "steps", delays: ["4 seconds"], tail: "4 seconds" }, jitter: "none" } as const

// #region restate
import { engine } from "@holdfast/restate"
import * as restate from "@restatedev/restate-sdk"
import { holdfast } from "holdfast"

const hf = holdfast({ model, tools, retry }) // or retry: "overnight"

const agent = restate.service({
  name: "agent",
  handlers: {
    ask: (ctx: restate.Context, prompt: string) => hf.turn(prompt, { engine: engine(ctx) }).result
  },
  options: { inactivityTimeout: { seconds: 1 }, abortTimeout: { hours: 1 } }
})
restate.serve({ services: [agent], port: Number(port) })
// #endregion restate

hf.on("provider-retry", ({ retryAt, turnId }) => console.log(`waiting ${turnId} ${retryAt}`))
