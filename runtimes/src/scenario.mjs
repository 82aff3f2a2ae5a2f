/** The program of every runtime: `scenario.mjs URL FILE LIFE`. Prints the turn's events as JSON lines, and `waiting` where it is to be killed. */
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import process from "node:process"
import { holdfast } from "holdfast"

const [url, file, life] = process.argv.slice(2)

/** A store of one's own: lines of a file, the last one of a key counts. */
const entries = () =>
  new Map(
    existsSync(file)
      ? readFileSync(file, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : []
  )
const store = {
  get: (key) => entries().get(key),
  put: (key, value) => appendFileSync(file, `${JSON.stringify([key, value])}\n`),
  list: (prefix) => Array.from(entries()).filter(([key]) => key.startsWith(prefix))
}

/** One call of the provider, by the runtime's own fetch. */
async function* model({ messages, signal }) {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(messages), signal })
  if (!response.ok) throw Object.assign(new Error(`It answered ${response.status}`), { status: response.status })
  let rest = ""
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    rest += part
    const lines = rest.split("\n")
    rest = lines.pop()
    for (const line of lines) {
      const { finish, text, tool } = JSON.parse(line)
      if (text !== undefined) yield { type: "text-delta", delta: text }
      if (tool !== undefined) yield { type: "tool-call", toolCallId: tool.id, toolName: tool.name, input: tool.input }
      if (finish !== undefined) yield { type: "finish", finishReason: finish }
    }
  }
}

let runs = 0
const tools = { weather: { execute: ({ city }) => ({ city, runs: ++runs }) } }
const retry = {
  schedule: { type: "steps", delays: ["1 millis", "3 hours"], tail: "3 hours" },
  requestTimeout: { firstContent: "30 seconds", idle: "30 seconds" }
}
const hf = holdfast({ model, tools, retry, store, target: "p/m" })
const waits = []
hf.on("provider-retry", (event) => {
  waits.push(event)
  if (life === "1" && waits.length === 2) console.log("waiting")
})
const [turn = hf.turn("How is the weather?", { id: "t1" })] = await hf.resume()
for await (const event of turn) {
  console.log(JSON.stringify(event))
  if (life === "2" && event.type === "provider-retry") turn.retryNow()
}
console.log(JSON.stringify({ type: "result", ...(await turn.result) }))
