/** Tests an operator's additions to requests, as the provider receives them. */
import { assert, describe, expect } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import * as Configurations from "../config/Configurations.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

/** Runs a turn per model, under a configuration file's `providers` and `models`; returns each request. */
const ask = Effect.fnUntraced(function* (
  type: Service.Format,
  entry: object,
  models: object,
  asked: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {}
) {
  const provider = yield* ScriptedServer.start()
  const dialect = type === "anthropic" ? "anthropic" : "openai"
  provider.fallback({ frames: ScriptedServer.answerFrames(dialect, "Yes.") })
  const config = Configurations.config({
    file: {
      server: { port: 0 },
      database: { path: ":memory:" },
      providers: { own: { type, baseUrl: `${provider.url}/v1`, ...entry } },
      models,
      model: `own/${asked[0]}`
    },
    environment
  })
  const service = yield* Service.start({ provider, config })
  for (const model of asked) {
    const id = yield* service.create({ model: `own/${model}`, system: "Be kind" })
    const { text } = yield* service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt: "Hello" } })
    assert.strictEqual(JSON.parse(text).status, "completed", text)
  }
  return provider.requests().map(({ body, headers }) => ({ headers, body: JSON.parse(body) }))
})

describe("providers.*.body and models.*.body", () => {
  It.live("reach the request: model over provider over Holdfast's own fields, and null removes a field", function* () {
    const [one, two] = yield* ask(
      "openai-compatible",
      { body: { temperature: 0.2, max_completion_tokens: 64, stop: ["END"], stream_options: null } },
      { "own/two": { body: { temperature: 1, reasoning_effort: "high", stop: null } } },
      ["one", "two"]
    )
    expect(one?.body).toEqual({
      model: "one",
      messages: [
        { role: "system", content: "Be kind" },
        { role: "user", content: "Hello" }
      ],
      stream: true,
      temperature: 0.2,
      max_completion_tokens: 64,
      stop: ["END"]
    })
    expect(two?.body).toEqual({ ...one?.body, model: "two", temperature: 1, reasoning_effort: "high", stop: undefined })
  })

  It.live("Anthropic: maxTokens and promptCaching, and body over both", function* () {
    const [one, two] = yield* ask(
      "anthropic",
      { maxTokens: 500, promptCaching: false, body: { thinking: { type: "enabled", budget_tokens: 1024 } } },
      { "own/two": { body: { max_tokens: 900, thinking: { budget_tokens: 2048 } } } },
      ["one", "two"]
    )
    expect(one?.body).toEqual({
      model: "one",
      max_tokens: 500,
      system: [{ type: "text", text: "Be kind" }],
      messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
      stream: true,
      thinking: { type: "enabled", budget_tokens: 1024 }
    })
    expect(two?.body).toMatchObject({ max_tokens: 900, thinking: { type: "enabled", budget_tokens: 2048 } })
  })

  It.live("without them a request is as Holdfast writes it", function* () {
    const [one] = yield* ask("anthropic", {}, {}, ["claude-3-opus"])
    expect(one?.body).toMatchObject({ max_tokens: 4096, system: [{ cache_control: { type: "ephemeral" } }] })
    expect(Object.keys(one?.body).toSorted()).toEqual(["max_tokens", "messages", "model", "stream", "system"])
  })
})

describe("providers.*.headers", () => {
  It.live("${NAME} is sent as the value of that variable", function* () {
    const [one] = yield* ask(
      "openai-compatible",
      { headers: { "X-Org": "org-${ORG}/${TEAM}", "X-Title": "Holdfast" } },
      {},
      ["one"],
      { ORG: "acme", TEAM: "night" }
    )
    expect(one?.headers).toMatchObject({ "x-org": "org-acme/night", "x-title": "Holdfast" })
  })
})
