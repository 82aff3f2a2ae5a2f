/** Tests providers of the AI SDK in the whole service, by a real package over a socket. */
import { assert, describe, expect } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import { join } from "node:path"
import type { Values } from "../../src/config/Config.ts"
import * as AiSdkPackage from "../../src/providers/AiSdkPackage.ts"
import * as Configurations from "../config/Configurations.ts"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import * as Service from "../service/Service.ts"
import * as It from "../It.ts"

const FOLDER = import.meta.dirname
const KEY = "the-key-of-the-night-0815"

const configOf = (entry: object, more: object = {}, models: object = {}): Values => ({
  ...Configurations.config({
    file: {
      server: { port: 0 },
      database: { path: ":memory:" },
      providers: { own: { type: "ai-sdk", package: "./ChatModels.mjs", ...entry } },
      models,
      model: "own/m",
      retry: { schedule: { type: "steps", delays: ["1 millis"], tail: "1 millis" } },
      ...more
    },
    environment: { OWN_KEY: KEY }
  }),
  file: join(FOLDER, "holdfast.config.json")
})

const problems = (entry: object, more: object = {}) =>
  Effect.map(Effect.flip(AiSdkPackage.loadAll(configOf(entry, more), { conceal: (text) => text })), ({ problems }) =>
    problems.map(({ message, place }) => `${place}: ${message}`)
  )

describe('providers.*.type "ai-sdk"', () => {
  It.live("answers a turn through an outage, with key, headers and fields of the configuration", function* () {
    const provider = yield* ScriptedServer.start()
    provider.respond({ status: 503, body: JSON.stringify({ error: { message: `down, by ${KEY}` } }) })
    provider.fallback({ frames: ScriptedServer.answerFrames("openai", "Yes.") })
    const config = configOf(
      {
        baseUrl: `${provider.url}/v1`,
        apiKeyEnv: "OWN_KEY",
        headers: { "x-team": "night" },
        body: { temperature: 0.5 }
      },
      {},
      { "own/m": { body: { maxOutputTokens: 77 } } }
    )
    const service = yield* Service.start({ provider, config })
    const id = yield* service.create({ system: "Be kind" })
    const { text } = yield* service.call(ProcessSetup.request(id, "one", "Hello"))
    const events = Service.eventsOf(text)
    const retry = events.find((event) => event.type === "provider-retry")
    expect(retry).toMatchObject({ code: "503", reason: "overloaded" })
    assert.notInclude(text, KEY)
    assert.include(retry?.message, "down, by ")
    expect(events.at(-1)).toMatchObject({ type: "turn-end", status: "completed", attempts: 2 })
    const requests = provider.requests()
    assert.strictEqual(requests.length, 2) // C9
    expect(requests[1]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, "x-team": "night" })
    const [system, user] = ["Be kind", "Hello"].map((content, at) => ({ role: ["system", "user"][at], content }))
    const sent = { model: "m", temperature: 0.5, max_tokens: 77, messages: [system, user] }
    expect(JSON.parse(requests[1]?.body ?? "")).toMatchObject(sent)
    const refused = yield* service.call({ path: "/v1/conversations", body: { model: "own/gone" } })
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, 'has no model \\"gone\\": No such languageModel: gone')
  })

  It.live("a package that is not installed is named with the command that installs it", function* () {
    const [missing] = yield* problems({ package: "@ai-sdk/nowhere" })
    assert.include(missing, `providers.own.package: "@ai-sdk/nowhere" is not installed: it is neither in ${FOLDER}`)
    assert.include(missing, `Install it: npm install --prefix ${FOLDER} @ai-sdk/nowhere`)
    // A file of the service is none of the operator's.
    for (const name of ["./Nowhere.mjs", "./AiSdkPackage.ts"])
      assert.include((yield* problems({ package: name }))[0], `there is no module "${name}" in ${FOLDER}`)
  })

  It.live("a check of the configuration finds a package without running its code", function* () {
    yield* AiSdkPackage.check(configOf({ package: "./Throws.mjs" }))
    const [loaded] = yield* problems({ package: "./Throws.mjs" })
    assert.include(loaded, '"./Throws.mjs" cannot be loaded: its code ran')
    const refused = yield* Effect.flip(AiSdkPackage.check(configOf({ package: "@ai-sdk/nowhere" })))
    const refusals = refused.problems.map(({ message, place }) => `${place}: ${message}`)
    assert.deepStrictEqual(refusals, yield* problems({ package: "@ai-sdk/nowhere" }))
  })

  It.live("mistakes of factory, options and model are reported with what was expected", function* () {
    assert.deepStrictEqual(yield* problems({ factory: "createChatt" }), [
      'providers.own.factory: "./ChatModels.mjs" exports no function "createChatt". Did you mean "createChat"? Its factories: createChat.'
    ])
    const [none] = yield* problems({ package: "ajv" })
    assert.match(none ?? "", /"ajv" has no function whose name begins with "create"\. Expected one of .*\bAjv\b/)
    const two = "./TwoFactories.mjs"
    assert.deepStrictEqual(yield* problems({ package: two }), [
      'providers.own.factory: missing: "./TwoFactories.mjs" has more than one function whose name begins with "create". Expected one of createError, createNothing.'
    ])
    assert.deepStrictEqual(yield* problems({ package: two, factory: "createError" }), [
      'providers.own.options: the factory of "./TwoFactories.mjs" refuses them: region is missing'
    ])
    const [nothing] = yield* problems({ package: two, factory: "createNothing" })
    assert.include(nothing, "what it returns has no languageModel()")
    assert.deepStrictEqual(yield* problems({}, { model: "own/gone" }), [
      'model: "./ChatModels.mjs" has no model "gone": No such languageModel: gone'
    ])
    const [old] = yield* problems({}, { model: "own/old" })
    assert.include(old, "version v1 of the AI SDK's specification; expected v2, v3, v4")
  })
})
