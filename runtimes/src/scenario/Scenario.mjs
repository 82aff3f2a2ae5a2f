/** The scenario that every runtime runs: a 503, a cut, a death in the second wait, a resumed turn, a tool, a cut, an answer. */
import { holdfast } from "holdfast"

const RETRY = {
  schedule: { type: "steps", delays: ["1 millis", "3 hours"], tail: "3 hours" },
  requestTimeout: { firstContent: "30 seconds", idle: "30 seconds" }
}

/** One call of the provider, by the runtime's own fetch. */
export const functionModel = (url) =>
  async function* ({ messages, signal }) {
    const response = await fetch(`${url}lines`, { method: "POST", body: JSON.stringify(messages), signal })
    if (!response.ok) throw Object.assign(new Error(`It answered ${response.status}`), { status: response.status })
    let rest = ""
    for await (const part of chunksOf(response.body.pipeThrough(new TextDecoderStream()))) {
      const lines = (rest + part).split("\n")
      rest = lines.pop()
      for (const line of lines) {
        const { finish, text, tool } = JSON.parse(line)
        if (text !== undefined) yield { type: "text-delta", delta: text }
        if (tool !== undefined) yield { type: "tool-call", toolCallId: tool.id, toolName: tool.name, input: tool.input }
        if (finish !== undefined) yield { type: "finish", finishReason: finish }
      }
    }
  }

/** What `holdfast` is made from: a function as the model, or the adapter of the packages. */
export const optionsOf = (url, model) =>
  model === "function"
    ? { model: functionModel(url), target: "openai/gpt-5" }
    : { model: "openai/gpt-5", env: { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${url}v1` } }

/** The tool of the scenario, which counts its runs. */
export const toolsOf = () => {
  let runs = 0
  return { weather: { execute: ({ city }) => ({ city, runs: ++runs }) } }
}

/**
 * Runs one life of the turn. `print` gets its events as JSON, and `waiting` where it is to be killed.
 */
export const scenario = async ({ life, model, print, store, url }) => {
  const hf = holdfast({ ...optionsOf(url, model), tools: toolsOf(), retry: RETRY, store })
  let waits = 0
  hf.on("provider-retry", () => {
    if (life === "1" && ++waits === 2) print("waiting")
  })
  const [turn = hf.turn("How is the weather?", { id: "t1" })] = await hf.resume()
  for await (const event of turn) {
    await print(JSON.stringify(event))
    if (life === "2" && event.type === "provider-retry") turn.retryNow()
  }
  await print(JSON.stringify({ type: "result", ...(await turn.result) }))
}

/** Two calls, the second of which the server cuts off before its response; `options` are those of the runtime's fetch. */
export const cutCall = async (url, options = {}) => {
  await (await fetch(`${url}cut`, { method: "POST", body: "1", ...options })).text()
  return fetch(`${url}cut`, { method: "POST", body: "2", ...options }).then(
    (response) => `${response.status}`,
    () => "cut"
  )
}

// --- internal

/** Safari and older Chromes have streams that are no async iterables. */
async function* chunksOf(stream) {
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}
