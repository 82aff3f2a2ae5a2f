import { describe, expect, it } from "@effect/vitest"
import { Simulated } from "@holdfast/simulated"
import type { Environment } from "../../src/config/reading/Environment.ts"
import * as Serve from "../../src/cli/Serve.ts"
import * as Configurations from "../config/Configurations.ts"

const ADDRESS = "http://127.0.0.1:4747"
const banner = (given: Configurations.ConfigurationInput, url = ADDRESS, environment: Environment = {}) =>
  Serve.banner({ version: "0", simulated: Simulated, environment }, Configurations.config(given), url).join("\n")

describe("the banner", () => {
  it("has what is in force, and a short command to paste, which the shell knows that started the service", () => {
    const head = `Holdfast 0 listens on ${ADDRESS}\n\n  model  `
    const rest = `  data   /etc/.holdfast/holdfast.db\n  page   ${ADDRESS}/\n  docs   ${ADDRESS}/docs\n\n`
    const stops = "Ctrl-C stops the service. Waiting turns are kept, and continue after the next start."
    const simulated = banner({ file: {} })
    expect(simulated).toBe(
      `${head}simulated/outage-2\n  retry  overnight: 21 retries over 7 h 31 m 45 s\n${rest}` +
        "No provider's key was found, so a simulated model answers. Export one, such as OPENAI_API_KEY or ANTHROPIC_API_KEY, and a real one does.\n\n" +
        "Each turn meets a 529 (overloaded) twice; then it is answered, 30 tokens a second.\n\n" +
        `Try it: holdfast run "Hello"\n\n${stops}`
    )
    const file = {
      model: "own/m",
      providers: { own: { type: "anthropic", baseUrl: "http://own" } },
      retry: { profile: "interactive" }
    }
    expect(banner({ file }, ADDRESS, { npm_lifecycle_event: "start" })).toBe(
      `${head}own/m\n  retry  interactive: 3 retries over 14 s\n${rest}Try it: npx --yes pnpm@12 holdfast run "Hello"\n\n${stops}`
    )
    expect(banner({}, "http://127.0.0.1:80")).toContain('Try it: holdfast run "Hello" --url http://127.0.0.1:80\n')
    const postgres = { HOLDFAST_DATABASE_URL: "postgres://u:p@db/h" }
    expect(banner({ environment: postgres })).toContain("\n  data   postgres://db/h, as runner 127.0.0.1:4748\n")
  })
})
