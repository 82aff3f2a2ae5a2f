import { describe, expect, it } from "@effect/vitest"
import { Target } from "@holdfast/wire"
import { BuiltIn } from "@holdfast/providers"
import * as Configurations from "./Configurations.ts"

const modelOf = (given: Configurations.ConfigurationInput): string | undefined => {
  const { model } = Configurations.config(given)
  return model && Target.format(model)
}

describe("ModelChoice", () => {
  it("without a key and a file a simulated model answers, with a notice", () => {
    const { notices } = Configurations.config()
    expect(modelOf({})).toBe("simulated/outage-2")
    expect(notices).toEqual([
      "No provider's key was found, so a simulated model answers. Export one, such as OPENAI_API_KEY or ANTHROPIC_API_KEY, and a real one does."
    ])
  })

  it.each(
    BuiltIn.builtIns.flatMap(({ apiKeyEnv, defaultModel, name }) =>
      apiKeyEnv.map((env) => [env, `${name}/${defaultModel}`])
    )
  )("%s alone is enough for %s", (env = "", model = "") => {
    const config = Configurations.config({ environment: { [env]: "key-0123456789" } })
    expect(config.model && Target.format(config.model)).toBe(model)
    expect(config.notices[0]).toContain(`${env} is set, so `)
  })

  it("a provider by another format is chosen by its name alone, with the same key", () => {
    const keyed = BuiltIn.otherFormats.filter(({ apiKeyEnv }) => apiKeyEnv.length > 0)
    for (const { apiKeyEnv, defaultModel, name } of keyed) {
      const environment = { [apiKeyEnv[0] ?? ""]: "key-0123456789" }
      expect(modelOf({ environment })).not.toContain(`${name}/`)
      expect(modelOf({ environment, flags: { model: `${name}/${defaultModel}` } })).toBe(`${name}/${defaultModel}`)
    }
  })

  it("with several keys the first provider is taken, and the others are named", () => {
    const { notices } = Configurations.config({
      environment: { OPENAI_API_KEY: "a-key-a-key", ANTHROPIC_API_KEY: "b-key-b-key" }
    })
    expect(notices).toEqual([
      "ANTHROPIC_API_KEY is set, so Anthropic answers, with claude-sonnet-4-5. There are keys for OpenAI too: HOLDFAST_MODEL=openai/gpt-5 would choose one of them."
    ])
  })

  it("a configured model is used, with any keys", () => {
    const environment = { OPENAI_API_KEY: "a-key-a-key" }
    const [file, flags] = [{ model: "openai/gpt-4" }, { model: "simulated/steady" }]
    expect(modelOf({ file, environment })).toBe("openai/gpt-4")
    expect(modelOf({ file, environment, flags })).toBe("simulated/steady")
    expect(Configurations.config({ flags, environment }).notices).toEqual([])
  })

  it("with a provider of one's own and no key there is no model, and a notice", () => {
    const providers = { mine: { type: "openai-compatible", baseUrl: "http://localhost:1/v1" } }
    expect(modelOf({ file: { providers } })).toBeUndefined()
    expect(Configurations.config({ file: { providers } }).notices).toEqual([
      'model is not set: prompts are refused unless they name a model, such as "mine/its-model". Calls through the gateway name theirs.'
    ])
    expect(modelOf({ file: { providers }, environment: { OPENAI_API_KEY: "a-key-a-key" } })).toBe("openai/gpt-5")
    expect(modelOf({ file: { providers: { mine: { type: "simulated" } } } })).toBe("simulated/outage-2")
  })

  it("the SDKs' own variable moves a built-in provider, key and all", () => {
    const environment = { OPENAI_API_KEY: "a-key-a-key", OPENAI_BASE_URL: "http://proxy.example/v1" }
    const openai = Configurations.config({ environment }).providers.get("openai")
    expect(openai).toMatchObject({ baseUrl: "http://proxy.example/v1" })
    expect(Configurations.problems({ environment: { OPENAI_BASE_URL: "proxy" } })).toEqual([
      'OPENAI_BASE_URL: expected an http or https address such as "https://api.openai.com/v1", without a user and without a fragment.'
    ])
  })
})
