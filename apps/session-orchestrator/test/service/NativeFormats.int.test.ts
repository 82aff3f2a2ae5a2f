/** Tests turns by the Responses API and by Gemini's own: they wait, and the model's state goes back with the next prompt. */
import { describe, expect } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import * as Configurations from "../config/Configurations.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

const frame = (json: object): string => `data: ${JSON.stringify(json)}\n\n`

/** Runs two turns; the first waits for one refusal. Returns the paths, and the body of the last request. */
const twoTurns = Effect.fnUntraced(function* (
  type: string,
  refusal: ScriptedServer.PreparedResponse,
  frames: ReadonlyArray<string>
) {
  const provider = yield* ScriptedServer.start()
  provider.respond(refusal)
  provider.fallback({ frames })
  const config = Configurations.config({
    file: {
      server: { port: 0 },
      database: { path: ":memory:" },
      providers: { own: { type, baseUrl: provider.url, apiKeyEnv: "KEY", body: { seed: 1 } } },
      retry: { schedule: { type: "steps", delays: ["10 millis"], tail: "10 millis" } },
      model: "own/gemini-3-pro"
    },
    environment: { KEY: "sk-own-0123456789" }
  })
  const service = yield* Service.start({ provider, config })
  const id = yield* service.create({ system: "Be kind" })
  for (const prompt of ["Hello", "Again"]) {
    const { text } = yield* service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt } })
    expect(JSON.parse(text), text).toMatchObject({ status: "completed", text: "Yes." })
  }
  const requests = provider.requests()
  return {
    paths: requests.map(({ path }) => path),
    headers: requests[0]?.headers,
    body: JSON.parse(requests.at(-1)?.body ?? "")
  }
})

describe("providers of other formats", () => {
  It.live("openai-responses: a turn waits, and encrypted reasoning goes back with the next prompt", function* () {
    const item = { type: "reasoning", id: "rs_1", encrypted_content: "gAAAA", summary: [] }
    const { body, headers, paths } = yield* twoTurns(
      "openai-responses",
      { status: 503, body: { error: { code: "server_is_overloaded", message: "Overloaded" } } },
      [
        frame({ type: "response.output_item.done", output_index: 0, item }),
        frame({ type: "response.output_text.delta", output_index: 1, delta: "Yes." }),
        frame({ type: "response.completed", response: { status: "completed", usage: { output_tokens: 2 } } })
      ]
    )
    expect(paths).toEqual(Array(3).fill("/responses"))
    expect(headers).toMatchObject({ authorization: "Bearer sk-own-0123456789" })
    expect(body).toMatchObject({
      instructions: "Be kind",
      store: false,
      seed: 1,
      input: [
        { role: "user" },
        item,
        { type: "message", content: [{ type: "output_text", text: "Yes." }] },
        { role: "user", content: [{ text: "Again" }] }
      ]
    })
  })

  It.live("gemini: a turn waits, and thought signatures go back with the next prompt", function* () {
    const parts = [{ text: "Yes." }, { text: "", thoughtSignature: "EpEg" }]
    const { body, headers, paths } = yield* twoTurns(
      "gemini",
      { status: 503, body: { error: { code: 503, status: "UNAVAILABLE", message: "Overloaded" } } },
      [frame({ candidates: [{ content: { parts }, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 5 } })]
    )
    expect(paths).toEqual(Array(3).fill("/v1beta/models/gemini-3-pro:streamGenerateContent"))
    expect(headers).toMatchObject({ "x-goog-api-key": "sk-own-0123456789" })
    expect(body).toMatchObject({
      systemInstruction: { parts: [{ text: "Be kind" }] },
      seed: 1,
      contents: [{ role: "user" }, { role: "model", parts }, { role: "user", parts: [{ text: "Again" }] }]
    })
  })
})
