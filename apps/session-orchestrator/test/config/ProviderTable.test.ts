import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as ConfigCheck from "../../src/cli/ConfigCheck.ts"
import * as ProviderTable from "../../src/config/ProviderTable.ts"
import * as Secrets from "../../src/config/redaction/Secrets.ts"
import * as Configurations from "./Configurations.ts"

const ADDRESS = "http://localhost:11434/v1"

const file = (providers: object, more: object = {}) => ({ model: "simulated/steady", providers, ...more })

const own = (entry: object, more: object = {}) =>
  file({ own: { type: "openai-compatible", baseUrl: ADDRESS, ...entry } }, more)

describe("providers", () => {
  describe('of type "ai-sdk"', () => {
    const entry = { type: "ai-sdk", package: "@ai-sdk/google" }
    const problems = (more: object, models: object = {}) =>
      Configurations.problems({
        file: file({ g: { ...entry, ...more } }, { models }),
        environment: { KEY: "s3cret-of-9" }
      })

    it("have their options with variables expanded, and their values as secrets", () => {
      const options = { region: "eu", deep: [{ key: "${KEY}", token: "written-here" }] }
      const config = Configurations.config({
        file: file({ g: { ...entry, options, apiKeyEnv: "KEY" } }),
        environment: { KEY: "s3cret-of-9" }
      })
      const provider = config.providers.get("g")
      if (provider?.type !== "ai-sdk") throw new Error("it is of another type")
      const deep = [{ key: "s3cret-of-9", token: "written-here" }]
      expect(Redacted.value(provider.options)).toEqual({ region: "eu", deep })
      const { redact } = Secrets.make(Secrets.ofConfig(config))
      expect(redact("eu: s3cret-of-9, written-here")).toBe("eu: [redacted], [redacted]")
      expect(ConfigCheck.report(config).join("\n")).toContain(
        "ai-sdk @ai-sdk/google, KEY=[redacted], region: [redacted]"
      )
    })

    it("report what is wrong with them", () => {
      expect(Configurations.problems({ file: file({ g: { type: "ai-sdk" } }) })).toEqual([
        expect.stringContaining("providers.g.package: missing. Expected a package")
      ])
      expect(problems({ options: { apiKey: "x" } })).toEqual([
        "providers.g.options.apiKey: it has a key of its own: write providers.g.apiKeyEnv."
      ])
      expect(problems({ options: { a: ["${NONE}"] } })).toEqual([
        "providers.g.options.a[0]: the environment variable NONE is not set."
      ])
      expect(problems({ promptCaching: true })).toEqual([expect.stringContaining("providers.g.promptCaching: ")])
      expect(problems({ body: { max_output_tokens: 5 } })).toEqual([
        expect.stringContaining(
          'providers.g.body.max_output_tokens: an "ai-sdk" provider has no such field. Did you mean'
        )
      ])
      expect(problems({}, { "g/m": { body: { top: 5 } } })).toEqual([expect.stringContaining("body.top: ")])
    })

    it("rule C9: refuse retries below those of Holdfast", () => {
      expect(problems({ options: { maxRetries: 2 } })).toEqual([
        expect.stringContaining("providers.g.options.maxRetries: Holdfast makes the retries")
      ])
      expect(problems({ options: { maxRetries: 0, proxy: null } })).toEqual([])
    })

    it("alone have package, factory and options", () => {
      expect(Configurations.problems({ file: own({ factory: "createX" }) })).toEqual([
        'providers.own.factory: an "ai-sdk" provider alone has it.'
      ])
    })
  })

  describe("fields of requests", () => {
    it("are the provider's, and by model", () => {
      const { models, providers } = Configurations.config({
        file: own(
          { body: { temperature: 0, stream_options: null } },
          {
            models: {
              "own/a/b": { body: { seed: 1 } },
              "own/c": { tools: false, files: false, body: { seed: 2 } },
              "own/d": {}
            }
          }
        )
      })
      expect(providers.get("own")).toMatchObject({
        request: {
          body: { temperature: 0, stream_options: null },
          modelBody: new Map([
            ["a/b", { seed: 1 }],
            ["c", { seed: 2 }]
          ])
        }
      })
      expect(models).toEqual({ "own/c": { tools: false, files: false }, "own/d": {} })
    })

    it.each([{ maxTokens: 5 }, { promptCaching: false }, { body: { top_k: 1 } }])(
      "each alone is enough: %j",
      (given) => {
        const config = Configurations.config({ file: file({ own: { type: "anthropic", ...given } }) })
        expect(config.providers.get("own")).toMatchObject({ request: given })
      }
    )

    it("of a built-in provider's model need no entry of the provider", () => {
      const { providers } = Configurations.config({
        file: { model: "simulated/steady", models: { "openai/gpt-5": { body: { seed: 1 } } } }
      })
      expect(providers.get("openai")).toMatchObject({ request: { modelBody: new Map([["gpt-5", { seed: 1 }]]) } })
      expect(providers.get("groq")).not.toHaveProperty("request")
    })

    it("of a simulated model may have every other key", () => {
      const models = { "simulated/m": { tools: false }, "mine/m": { tools: false } }
      const config = Configurations.config({ file: file({ mine: { type: "simulated" } }, { models }) })
      expect([config.models, config.providers.get("mine")]).toEqual([models, { type: "simulated", name: "mine" }])
    })

    it("are shown by `config check`, without secrets", () => {
      const config = Configurations.config({
        file: file(
          {
            own: {
              type: "anthropic",
              maxTokens: 500,
              promptCaching: false,
              headers: { "X-Key": "${MINE}" },
              body: { metadata: { user_id: "open-sesame-1" }, tags: [1, null] }
            }
          },
          { models: { "own/m": { body: { top_k: 3 } } } }
        ),
        environment: { MINE: "open-sesame-1" }
      })
      expect(ConfigCheck.report(config).join("\n")).toContain(
        `500 tokens an answer, no prompt caching, body {"metadata":{"user_id":"${Secrets.PLACEHOLDER}"},"tags":[1,null]}, body of m {"top_k":3}`
      )
    })

    it.each<[string, object, ...ReadonlyArray<string>]>([
      [
        "what Holdfast writes itself",
        own(
          { body: { stream: false, model: "x", temperature: 1, tools: [] } },
          { models: { "own/m": { body: { messages: [], n: 2 } } } }
        ),
        "providers.own.body.stream: this field cannot be set: Holdfast reads answers as streams only.",
        "providers.own.body.model: this field cannot be set: the turn's model goes there. Choose it with `model`, or by conversation.",
        'providers.own.body.tools: this field cannot be set: the tools of the "tools" section go there.',
        'models["own/m"].body.messages: this field cannot be set: the conversation goes there.',
        'models["own/m"].body.n: this field cannot be set: Holdfast reads one answer.'
      ],
      [
        "a body that is no object, without showing it",
        own({ body: "temperature=0" }),
        'providers.own.body: found a string of 13 characters; expected an object of request fields, such as { "max_tokens": 500 }.'
      ],
      [
        "Anthropic's keys elsewhere",
        own({ maxTokens: 5, promptCaching: true }),
        'providers.own.maxTokens: an "anthropic" provider alone has it. Other providers take such fields in body.',
        'providers.own.promptCaching: an "anthropic" provider alone has it. Other providers take such fields in body.'
      ],
      [
        "any of it for a simulation",
        file(
          { mine: { type: "simulated", body: {}, maxTokens: 1, promptCaching: true } },
          { models: { "simulated/m": { body: {} } } }
        ),
        'providers.mine.body: a "simulated" provider has none: nothing leaves this machine.',
        'providers.mine.maxTokens: a "simulated" provider has none: nothing leaves this machine.',
        'providers.mine.promptCaching: a "simulated" provider has none: nothing leaves this machine.',
        'models["simulated/m"].body: a "simulated" provider has none: nothing leaves this machine.'
      ]
    ])("%s is refused, by its path", (_, given, ...expected) => {
      expect(Configurations.problems({ file: given })).toEqual(expected)
    })
  })

  describe("headers", () => {
    const SECRET = "planted-in-a-variable"

    it("${NAME} stands for a variable, whose value is a secret everywhere", () => {
      const config = Configurations.config({
        file: own({ headers: { Authorization: "Bearer ${MINE}", "HTTP-Referer": "https://example.org/${HOOK}" } }),
        environment: { MINE: SECRET, HOOK: `hook-${SECRET}` }
      })
      const provider = config.providers.get("own")
      const headers = provider?.type === "openai-compatible" ? provider.headers : {}
      expect(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)])).toEqual([
        ["Authorization", `Bearer ${SECRET}`],
        ["HTTP-Referer", `https://example.org/hook-${SECRET}`]
      ])
      const { redact } = Secrets.make(Secrets.ofConfig(config))
      expect(redact(`it said hook-${SECRET}, and ${SECRET}`)).toBe(
        `it said ${Secrets.PLACEHOLDER}, and ${Secrets.PLACEHOLDER}`
      )
      expect(JSON.stringify(config)).not.toContain(SECRET)
    })

    it("a variable that is named there is not pointed out as unknown", () => {
      const given = { file: own({ headers: { "X-Key": "${HOLDFAST_GATEWAY}" } }) }
      expect(Configurations.config({ ...given, environment: { HOLDFAST_GATEWAY: SECRET } }).notices).toEqual([])
      expect(Configurations.problems(given)).toEqual([
        "providers.own.headers.X-Key: the environment variable HOLDFAST_GATEWAY is not set."
      ])
    })

    it("a value that is not valid in a header is refused without quoting it", () => {
      const [problem, ...others] = Configurations.problems({
        file: own({ headers: { "X-Key": "${MINE}" } }),
        environment: { MINE: "two\nlines" }
      })
      expect(others).toEqual([])
      expect(problem).toBe(
        "providers.own.headers.X-Key: what its variables stand for is no header's value: expected printable ASCII on one line."
      )
    })
  })

  describe("keys", () => {
    const environment = {
      OPENAI_API_KEY: "sk-openai-01234",
      ANTHROPIC_API_KEY: "sk-anthropic-01234",
      GEMINI_API_KEY: " sk-twice-01234 ",
      GOOGLE_API_KEY: "sk-twice-01234",
      MINE: "sk-mine-01234"
    }
    const keysOf = (name: string, providers: object = {}) => {
      const provider = Configurations.config({ file: file(providers), environment }).providers.get(name)
      return provider?.type === "simulated" ? undefined : provider?.credentials.map(({ name }) => name)
    }

    it("are those of the built-in provider if an entry names no address", () => {
      expect(keysOf("openai")).toEqual(["OPENAI_API_KEY"])
      const keys = (entry: object) => keysOf("openai", { openai: { type: "openai-compatible", ...entry } })
      expect(keys({})).toEqual(["OPENAI_API_KEY"])
      expect(keys({ baseUrl: ADDRESS })).toEqual([])
      expect(keys({ baseUrl: ADDRESS, apiKeyEnv: "MINE" })).toEqual(["MINE"])
      expect(keys({ apiKeyEnv: ["MINE", "NOT_SET"] })).toEqual(["MINE"])
    })

    it("an Anthropic of another name has Anthropic's address and keys; another type under a built-in name has not", () => {
      expect(keysOf("claude", { claude: { type: "anthropic" } })).toEqual(["ANTHROPIC_API_KEY"])
      expect(keysOf("claude", { claude: { type: "anthropic", baseUrl: ADDRESS } })).toEqual([])
      expect(keysOf("openai", { openai: { type: "anthropic" } })).toEqual(["ANTHROPIC_API_KEY"])
      expect(
        Configurations.config({ file: file({ openai: { type: "anthropic" } }), environment }).providers.get("openai")
      ).toMatchObject({ baseUrl: "https://api.anthropic.com" })
    })

    it("OpenAI and Google by another format have the same keys, under any name", () => {
      const openAi = { baseUrl: "https://api.openai.com/v1", type: "openai-responses" }
      const gemini = { baseUrl: "https://generativelanguage.googleapis.com", type: "gemini" }
      const { providers } = Configurations.config({
        file: file({ mine: { type: "openai-responses" }, google: { type: "gemini" } }),
        environment
      })
      for (const name of ["openai-responses", "mine"]) expect(providers.get(name)).toMatchObject(openAi)
      for (const name of ["gemini", "google"]) expect(providers.get(name)).toMatchObject(gemini)
      expect(keysOf("openai-responses")).toEqual(["OPENAI_API_KEY"])
      expect(keysOf("gemini")).toEqual(["GEMINI_API_KEY"])
      expect(keysOf("mine", { mine: { type: "gemini", baseUrl: ADDRESS } })).toEqual([])
      expect(
        Configurations.config({ environment: { GOOGLE_GEMINI_BASE_URL: ADDRESS } }).providers.get("gemini")
      ).toMatchObject({ baseUrl: ADDRESS })
    })

    it("one key under two names is one credential, without the blanks around it", () => {
      const google = Configurations.config({ file: file({}), environment }).providers.get("google")
      expect(
        google?.type === "openai-compatible" &&
          google.credentials.map(({ name, value }) => [name, Redacted.value(value)])
      ).toEqual([["GEMINI_API_KEY", "sk-twice-01234"]])
    })
  })

  it("limits are as they are written, and refused if they are invalid", () => {
    const limits = { calls: 1, requestsPerMinute: 30, tokensPerMinute: 6000 }
    const config = Configurations.config({ file: own({ limits }) })
    expect(config.providers.get("own")).toMatchObject({ limits })
    expect(ConfigCheck.report(config).join("\n")).toContain(
      "1 calls at once, 30 requests a minute, 6000 tokens a minute"
    )
    expect(Configurations.problems({ file: own({ limits: { calls: 0, tokensPerMinute: 1.5, request: 1 } }) })).toEqual([
      'providers.own.limits.request: unknown key. Did you mean "requestsPerMinute"? Known here: calls, requestsPerMinute, tokensPerMinute.',
      "providers.own.limits.calls: found 0; expected an integer of calls, 1 or more.",
      "providers.own.limits.tokensPerMinute: found 1.5; expected an integer of tokens, 1 or more."
    ])
  })

  describe("an address that ends in what Holdfast adds", () => {
    it.each<[type: string, path: string, end: string, write: string, format?: string]>([
      ["openai-compatible", "/v1/chat/completions", "/chat/completions", "/v1"],
      [
        "openai-compatible",
        "/o/d/a/Chat/Completions/?api-version=1&key=open-sesame",
        "/chat/completions",
        "/o/d/a?..."
      ],
      ["anthropic", "/anthropic/v1/messages", "/v1/messages", "/anthropic"],
      ["anthropic", "/messages", "/messages", ""],
      ["openai-compatible", "/v1/messages", "/v1/messages", "", "anthropic"],
      ["anthropic", "/v1/chat/completions", "/chat/completions", "/v1", "openai-compatible"],
      ["openai-responses", "/v1/responses", "/responses", "/v1"],
      ["openai-compatible", "/v1/responses", "/responses", "/v1", "openai-responses"],
      ["gemini", "/v1beta/models", "/v1beta/models", ""]
    ])("%s at %s is told what to write", (type, path, end, write, format) => {
      const other = format === undefined ? "" : `, with "type": "${format}", which is the format of that path`
      expect(Configurations.problems({ file: file({ own: { type, baseUrl: `https://example.org${path}` } }) })).toEqual(
        [
          `providers.own.baseUrl: it ends in ${end}, which Holdfast adds itself. Write "https://example.org${write}"${other}.`
        ]
      )
    })

    it("is refused in a provider's own variable, too", () => {
      const environment = { OPENAI_BASE_URL: "http://localhost:1/v1/chat/completions" }
      expect(Configurations.problems({ environment })).toEqual([
        'OPENAI_BASE_URL: it ends in /chat/completions, which Holdfast adds itself. Write "http://localhost:1/v1".'
      ])
      // It is not reported where an entry of the file replaces it.
      const replaced = file({ openai: { type: "openai-compatible", baseUrl: ADDRESS } })
      expect(Configurations.problems({ file: replaced, environment })).toEqual([])
    })

    it.each(["https://example.org/v1", "https://a.org/completions", "https://messages.a.org"])(
      "%s does not",
      (baseUrl) => {
        expect(Configurations.problems({ file: own({ baseUrl }) })).toEqual([])
      }
    )
  })
})

describe("the keys of a provider", () => {
  const of = (entry: object, environment: Record<string, string> = {}) => {
    const provider = Configurations.config({ file: own(entry), environment }).providers.get("own")
    return provider ?? expect.fail("it is not there")
  }
  const told = (...given: Parameters<typeof of>) => {
    const provider = of(...given)
    return [ProviderTable.hasKey(provider), ProviderTable.missingKey(provider), ProviderTable.keyNames(provider)]
  }

  it("are those of its variables that are set, one of several names for one key", () => {
    expect(told({ apiKeyEnv: "A" }, { A: "one" })).toEqual([true, undefined, ["A"]])
    const twice = { A: " one ", B: "one", C: "two" }
    expect(told({ apiKeyEnv: ["A", "B", "C"] }, twice)).toEqual([true, undefined, ["A", "C"]])
    expect(told({ apiKeyEnv: ["A", "B"] }, { A: "", B: "two" })).toEqual([true, undefined, ["B"]])
  })

  it("that are missing are named, if it needs one", () => {
    expect(told({ apiKeyEnv: "A" })).toEqual([false, "A is not set", []])
    expect(told({ apiKeyEnv: ["A", "B"] })).toEqual([false, "none of A, B is set", []])
    expect(told({})).toEqual([false, undefined, []])
  })

  it("are none for a simulated provider and for an unknown one", () => {
    const simulated = Configurations.config().providers.get("simulated")
    expect([ProviderTable.hasKey(simulated), ProviderTable.keyNames(simulated)]).toEqual([false, []])
    expect([ProviderTable.hasKey(undefined), ProviderTable.keyNames(undefined)]).toEqual([false, []])
    expect(simulated && ProviderTable.missingKey(simulated)).toBeUndefined()
  })
})
