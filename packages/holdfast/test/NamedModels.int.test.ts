/** Models by name, over `fetch` and a provider on a socket. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, it } from "vitest"
import { holdfast } from "../src/index.ts"

const KEY = "sk-a-key-of-the-test"

const event = (data: { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

const ANSWER = [
  { type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 0 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Still here." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } },
  { type: "message_stop" }
]

it("a known model is called with the key of the environment, and a turn is switched to another", async () => {
  const seen: Array<{ readonly url: string | undefined; readonly key: string | undefined }> = []
  const server = createServer((request, response) => {
    request.resume()
    const { authorization, "x-api-key": anthropicKey } = request.headers
    seen.push({ url: request.url, key: authorization ?? String(anthropicKey) })
    if (request.url === "/v1/chat/completions") {
      response.writeHead(529, { "content-type": "application/json" })
      response.end(JSON.stringify({ error: { message: `No room for ${KEY}` } }))
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(ANSWER.map(event).join(""))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const hf = holdfast({
    model: "openai/gpt-5",
    env: {
      OPENAI_API_KEY: KEY,
      OPENAI_BASE_URL: `${address}/v1`,
      ANTHROPIC_API_KEY: "another",
      ANTHROPIC_BASE_URL: address
    }
  })
  const turn = hf.turn("Are you there?")
  for await (const event of turn) {
    if (event.type !== "provider-retry") continue
    assert.notInclude(event.message, KEY)
    assert.isTrue(turn.switchTo("anthropic/claude-sonnet-4-5"))
  }
  assert.deepInclude(await turn.result, { status: "completed", text: "Still here.", attempts: 2 })
  assert.deepStrictEqual(seen, [
    { url: "/v1/chat/completions", key: `Bearer ${KEY}` },
    { url: "/v1/messages", key: "another" }
  ])
  server.closeAllConnections()
  server.close()
})

it("a turn that is switched to a provider without a key fails, and its error names the variable", async () => {
  const hf = holdfast({ model: "openai/gpt-5", env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: "http://127.0.0.1:1/v1" } })
  const turn = hf.turn("Are you there?")
  for await (const event of turn) if (event.type === "provider-retry") turn.switchTo("groq/llama")
  const result = await turn.result
  assert.strictEqual(result.status === "failed" && result.error?.message, 'model: "groq" needs a key in GROQ_API_KEY.')
})
