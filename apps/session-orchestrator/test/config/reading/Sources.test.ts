import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Sources from "../../../src/config/reading/Sources.ts"
import * as ConfigProblem from "../../../src/config/reading/ConfigProblem.ts"
import * as Configurations from "../Configurations.ts"
import * as Law from "../../Law.ts"

const decode = (content: unknown) => Sources.decode(content, ConfigProblem.formatPath)

describe("Sources", () => {
  it("valid keys beside a mistake are kept", () => {
    const { missing, problems, settings } = decode({
      server: { host: "10.0.0.1", port: "x" },
      sever: 1,
      retry: { maxRetries: 3, schedule: { type: "steps", delays: ["5 seconds", 10] } },
      providers: { a: { type: "anthropic", headers: { "x y": "z", ok: "v" } }, b: { baseUrl: "http://localhost/v1" } }
    })
    expect(problems.map(({ place }) => place).toSorted()).toEqual([
      'providers.a.headers["x y"]',
      "providers.b.type",
      "retry.schedule.delays[1]",
      "server.port",
      "sever"
    ])
    expect(settings).toMatchObject({
      server: { host: "10.0.0.1" },
      retry: { maxRetries: 3 },
      providers: { a: { type: "anthropic", headers: { ok: expect.anything() } } }
    })
    expect(settings.providers).not.toHaveProperty("b")
    // The list is left out first, and then the schedule, which needs it.
    expect(settings.retry).not.toHaveProperty("schedule")
    const paths = "sever server.port providers.a.headers.x_y providers.b retry.schedule.delays retry.schedule"
    expect(missing.map((path) => path.join(".").replace(" ", "_")).join(" ")).toBe(paths)
  })

  it.each([42, [], "text", null])("of %j nothing is kept", (content) => {
    expect(decode(content)).toMatchObject({ settings: {}, missing: [[]], problems: [{ place: "the whole" }] })
  })

  it("explains problems at, within or around a left-out path, and no other", () => {
    const missing = [["providers", "a", "baseUrl"], ["tools"]]
    const explained = (...places: ReadonlyArray<string>) => places.filter((place) => Sources.explains(missing, place))
    const those = ["providers.a.baseUrl", "providers.a", "tools.x.command", "tools"]
    const others = ["providers.a.headers.x", "providers.ab", "providers.a.baseUrlX", "toolsmith", "model"]
    expect(explained(...others, ...those)).toEqual(those)
    expect(Sources.explains([[]], "model")).toBe(true)
    expect(Sources.explains([["retry", "reasons"]], 'retry.reasons["x y"]')).toBe(true)
  })

  it("knows which paths are whole", () => {
    const missing = [["providers", "a", "baseUrl"], ["models"]]
    const paths = ["providers.a", "models.x/y", "providers.b"].map((path) => path.split("."))
    expect(paths.map((path) => Sources.isWhole(missing, path))).toEqual([false, false, true])
    expect([[[]], []].map((missing) => Sources.isWhole(missing, ["server", "token"]))).toEqual([false, true])
  })

  it("decoding ends for every content, and has no problem exactly if nothing is missing", () => {
    const key = fc.constantFrom(..."server port providers a type retry routing chains targets x model".split(" "))
    const { content } = fc.letrec<{ content: unknown }>((tie) => ({
      content: fc.oneof(
        { depthSize: "medium" },
        fc.constantFrom<unknown>(1, "anthropic", null, "openai/gpt-5", 4747),
        fc.array(tie("content"), { maxLength: 2 }),
        fc.dictionary(key, tie("content"), { maxKeys: 4 })
      )
    }))
    Law.holds([content], (content) => {
      const { missing, problems } = decode(content)
      expect(problems.length > 0).toBe(missing.length > 0)
    })
  })
})

describe("mistakes of all phases", () => {
  const providers = {
    mine: { type: "openai-compatible", baseUrl: "http://localhost:1/v1", headers: { "X-A": "${NOT_SET}" } }
  }

  it("are reported at once: decoding, providers, keys, tools, policy, telemetry, environment, flags", () => {
    const problems = Configurations.problems({
      file: {
        server: { port: -1, host: "0.0.0.0" },
        database: { url: "mysql://x/y" },
        providers,
        model: "opnai/gpt-5",
        models: { "nobody/m": {} },
        retry: {
          maxRetries: -1,
          routing: { type: "fallback-chain", chains: { default: ["openai/gpt-5"] } },
          finalReport: { schema: { type: "objekt" } }
        },
        tools: { files: { timeout: "1 minute" } },
        telemetry: { notifications: {} }
      },
      environment: { HOLDFAST_LOG_FORMAT: "xml", HOLDFAST_PORT: "x" },
      flags: { profile: "nightly" }
    })
    expect(problems.map((problem) => /^\S+:/.exec(problem)?.[0]).join(" ")).toBe(
      "server.port: database.url: retry.maxRetries: HOLDFAST_PORT: --profile: HOLDFAST_LOG_FORMAT: " +
        'providers.mine.headers.X-A: tools.files: model: retry.routing.chains.default[0]: models["nobody/m"]: ' +
        "telemetry.notifications: server.host: retry.finalReport.schema:"
    )
  })

  it.each(
    Object.entries<readonly [object, ReadonlyArray<string>]>({
      "a provider with a mistake is no provider that is not there": [
        { model: "mine/m", providers: { mine: { type: "openai" } } },
        ["providers.mine.type:"]
      ],
      "nor are those of a section with a mistake": [{ model: "mine/m", providers: [] }, ["providers:"]],
      "nor does one have no key": [
        { model: "openai/gpt-5", providers: { openai: { type: "openai-compatible", apiKeyEnv: 5 } } },
        ["providers.openai.apiKeyEnv:"]
      ],
      "nor is a model missing whose provider may have a key": [
        { providers: { openai: { type: "openai-compatible", apiKeyEnv: 5 } } },
        ["providers.openai.apiKeyEnv:"]
      ],
      "a model with a mistake is not missing": [
        { model: 5, providers: { mine: { type: "anthropic", baseUrl: "http://a/" } } },
        ["model:"]
      ],
      "a bad address is not missing": [
        { model: "mine/m", providers: { mine: { type: "openai-compatible", baseUrl: "x" } } },
        ["providers.mine.baseUrl:"]
      ],
      "a bad token is a token": [{ server: { host: "0.0.0.0", token: "short" } }, ["server.token:"]],
      "and so is a bad variable's name": [{ server: { host: "0.0.0.0", tokenEnv: "a b" } }, ["server.tokenEnv:"]],
      "and so is one whose variable is not set": [
        { server: { host: "0.0.0.0", tokenEnv: "NOT_SET" } },
        ["server.tokenEnv:"]
      ],
      "a bad command is a command": [{ tools: { a: { command: 5 } } }, ["tools.a.command:"]],
      "a bad webhook is one": [{ telemetry: { notifications: { webhook: "x" } } }, ["telemetry.notifications.webhook:"]]
    })
  )("%s", (_, [file, expected]) => {
    const found = Configurations.problems({ file: file })
    expect(found.map((problem) => /^\S+:/.exec(problem)?.[0])).toEqual(expected)
  })
})
