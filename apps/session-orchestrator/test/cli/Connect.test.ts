/** Tests `holdfast connect`: the line, and what it writes into clients' own configurations. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ClientFile from "../../src/cli/connect/ClientFile.ts"
import * as Clients from "../../src/cli/connect/Clients.ts"
import * as CommandLine from "./CommandLine.ts"

const URL = "http://127.0.0.1:4747/to/anthropic"

const parts = { environment: { HOME: "/home/a" } }

describe("holdfast connect", () => {
  it.effect("prints the line that starts the client", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* CommandLine.run(["connect", "claude"], { parts })
      expect([code, stdout]).toEqual([0, `ANTHROPIC_BASE_URL=${URL} claude\n`])
      expect(stderr).toContain("~/.claude/settings.json")
      const other = yield* CommandLine.run(["connect", "codex", "--profile", "interactive", "--url", "http://box:9/"], {
        parts
      })
      expect(other.stdout).toBe("codex -c openai_base_url=http://box:9/to/openai@interactive\n")
    })
  )

  it.effect("needs no key of a provider, as it calls none", () =>
    Effect.gen(function* () {
      const config = {
        model: "own/m",
        providers: {
          own: {
            type: "openai-compatible",
            baseUrl: "https://own.example",
            apiKeyEnv: "OWN_KEY",
            headers: { "x-tenant": "${TENANT}" }
          }
        }
      }
      const files = { "holdfast.config.json": JSON.stringify(config) }
      const { code, stdout } = yield* CommandLine.run(["connect", "openai-sdk", "--provider", "own"], { parts, files })
      expect([code, stdout]).toEqual([0, "export OPENAI_BASE_URL=http://127.0.0.1:4747/to/own\n"])
    })
  )

  it.effect("prints the setting of a client that has its base URL in a file alone", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* CommandLine.run(["connect", "pi"], { parts })
      expect([code, stdout]).toEqual([0, `providers.anthropic.baseUrl is ${URL}\n`])
      expect(stderr).toContain("--write sets it in ~/.pi/agent/models.json")
    })
  )

  it.effect("sets a base URL of cline once it has the provider", () =>
    Effect.gen(function* () {
      const path = "/home/a/.cline/data/settings/providers.json"
      const refused = yield* CommandLine.run(["connect", "cline", "--write"], { parts })
      expect(refused.code).toBe(2)
      expect(refused.stderr).toContain(
        `${path} has no providers.anthropic.settings. Run \`cline auth anthropic\` first.`
      )
      const written = new Map<string, string>()
      const text = '{ "version": 1, "providers": { "anthropic": { "settings": { "provider": "anthropic" } } } }'
      const { code } = yield* CommandLine.run(["connect", "cline", "--write"], {
        parts,
        written,
        files: { [path]: text }
      })
      expect(code).toBe(0)
      expect(JSON.parse(written.get(path) ?? "").providers.anthropic.settings).toEqual({
        provider: "anthropic",
        baseUrl: `${URL}/v1`
      })
    })
  )

  it.effect("names the providers if the client's is not configured", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* CommandLine.run(["connect", "claude", "--provider", "nowhere"], { parts })
      expect(code).toBe(2)
      expect(stderr).toMatch(/no provider "nowhere" with a base URL\. It has .*anthropic/u)
    })
  )

  it.effect("writes the client's own file, and keeps what it was", () =>
    Effect.gen(function* () {
      const written = new Map<string, string>()
      const path = "/home/a/.claude/settings.json"
      const text = '{\n  "model": "opus",\n  "env": { "A": "1" }\n}\n'
      const { code } = yield* CommandLine.run(["connect", "claude", "--write"], {
        parts,
        written,
        files: { [path]: text }
      })
      expect(code).toBe(0)
      expect(JSON.parse(written.get(path) ?? "")).toEqual({ model: "opus", env: { A: "1", ANTHROPIC_BASE_URL: URL } })
      expect(written.get(`${path}.before-holdfast`)).toBe(text)
      const again = yield* CommandLine.run(["connect", "claude", "--undo"], {
        parts,
        written,
        files: Object.fromEntries(written)
      })
      expect(again.code).toBe(0)
      expect(JSON.parse(written.get(path) ?? "")).toEqual({ model: "opus", env: { A: "1" } })
    })
  )
})

describe("a client's file", () => {
  const texts: Readonly<Record<ClientFile.Place["format"], ReadonlyArray<string>>> = {
    json: ["", "{}", '{ // a comment\n  "a": 1\n}\n'],
    toml: ["", 'model = "gpt-5"\n\n[profiles.a]\nopenai_base_url = "x"\n'],
    env: ["", "A=1", "A=1\nB=2\n"]
  }

  it("has the value, and all of its other text; and without it again it is as before", () => {
    for (const client of Clients.table) {
      const place = client.place?.(client.provider)
      if (place === undefined) continue
      for (const text of texts[place.format]) {
        const once = ClientFile.set(place, text, "http://a/to/x")
        expect(ClientFile.get(place, once)).toBe("http://a/to/x")
        const twice = ClientFile.set(place, once, "http://b/to/y")
        expect(ClientFile.get(place, twice)).toBe("http://b/to/y")
        for (const line of text.split("\n").filter((line) => /comment|model|A=1|B=2|\[|= "x"/u.test(line)))
          expect(twice).toContain(line)
        expect(ClientFile.get(place, ClientFile.set(place, twice, undefined))).toBe(undefined)
      }
    }
  })
})
