import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as fc from "fast-check"
import * as Secrets from "../../../src/config/redaction/Secrets.ts"
import * as Configurations from "../Configurations.ts"
import * as Law from "../../Law.ts"

const redactor = (...secrets: ReadonlyArray<string>) =>
  Secrets.make(secrets.map((secret) => Redacted.make(secret))).redact

/** Secrets of any characters, not only of those in keys. */
const secret = fc
  .oneof(
    fc.string({ minLength: 12, maxLength: 60, unit: fc.constantFrom(..."ABCxyz0189-_.~/+=") }),
    fc.string({ minLength: 12, maxLength: 60, unit: "grapheme-ascii" }),
    fc.string({ minLength: 12, maxLength: 30, unit: "grapheme" })
  )
  .filter((secret) => secret.isWellFormed() && new Set(secret).size > 4)

const around = fc.string({ maxLength: 40, unit: "grapheme-ascii" })

const base64 = (text: string): string => Buffer.from(text).toString("base64")

/** Every form in which a secret must be found. */
const forms: ReadonlyArray<readonly [name: string, encode: (secret: string) => string]> = [
  ["as it is", (secret) => secret],
  ["percent-encoded", encodeURIComponent],
  [
    "percent-encoded in lower case",
    (secret) => encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase())
  ],
  ["percent-encoded as a form is", (secret) => new URLSearchParams({ k: secret }).toString().slice(2)],
  [
    "percent-encoded throughout",
    (secret) =>
      Array.from(new TextEncoder().encode(secret), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")
  ],
  ["inside JSON", (secret) => JSON.stringify({ key: secret })],
  [
    "escaped throughout as JSON has it",
    (secret) =>
      Array.from({ length: secret.length }, (_, i) => `\\u${secret.charCodeAt(i).toString(16).padStart(4, "0")}`).join(
        ""
      )
  ]
]

describe("Secrets", () => {
  for (const [name, encode] of forms) {
    it(`a known secret is redacted ${name}, anywhere in a text`, () =>
      Law.holds([secret, around, around], (secret, before, after) => {
        const planted = encode(secret)
        const cleaned = redactor(secret)(`${before}${planted}${after}`)
        expect(cleaned).not.toContain(planted)
        expect(cleaned).toContain(Secrets.PLACEHOLDER)
      }))
  }

  it("a known secret is redacted in base64 of a longer text, at any offset and in both alphabets", () => {
    const short = fc.string({ maxLength: 20 })
    Law.holds([secret, short, short, fc.boolean()], (secret, before, after, isUrl) => {
      const whole = `${before}${secret}${after}`
      const encoded = isUrl ? Buffer.from(whole).toString("base64url") : base64(whole)
      const cleaned = redactor(secret)(`authorization ${encoded} end`)
      expect(cleaned).toContain(Secrets.PLACEHOLDER)
      const rest = cleaned
        .split(Secrets.PLACEHOLDER)
        .map((part) => Buffer.from(part.replaceAll(/[^A-Za-z0-9+/_-]/g, ""), "base64").toString("latin1"))
      expect(rest.join("\n")).not.toContain(Buffer.from(secret).toString("latin1").slice(1, -1))
    })
  })

  it("two secrets of which one begins with the other are both redacted whole", () => {
    const secrets = ["secret-one", "secret-one-and-more"]
    for (const order of [secrets, secrets.toReversed()]) {
      expect(redactor(...order)("a secret-one-and-more b secret-one c")).toBe("a [redacted] b [redacted] c")
    }
  })

  it("a dummy of a few letters is no secret", () => {
    expect(redactor("none", "ollama")("none of this is about ollama")).toBe("none of this is about ollama")
  })

  it.each<[string, string]>([
    ["Incorrect API key provided: sk-proj-abcdef0123456789.", "Incorrect API key provided: [redacted]."],
    ["invalid x-api-key sk-ant-api03-abcdef_0123", "invalid x-api-key [redacted]"],
    ["Authorization: Bearer abc.def0-123", "Authorization: Bearer [redacted]"],
    ['{"authorization":"Bearer abc.def0-123","a":1}', '{"authorization":"Bearer [redacted]","a":1}'],
    ['{"headers":{"x-api-key":"0123456789abc"}}', '{"headers":{"x-api-key":"[redacted]"}}'],
    ["x-api-key=0123456789abc; path=/", "x-api-key=[redacted]; path=/"],
    ['{"api-key":"0123456789abc"}', '{"api-key":"[redacted]"}'],
    ["ocp-apim-subscription-key: 0123456789abc", "ocp-apim-subscription-key: [redacted]"],
    ["cookie: sid=0123456789abc", "cookie: [redacted]"],
    ["GET https://x.example/v1?key=abcdef&alt=sse", "GET https://x.example/v1?key=[redacted]&alt=sse"],
    ["proxy http://user:hunter2@proxy.example:8080/", "proxy http://user:[redacted]@proxy.example:8080/"],
    ["Basic dXNlcjpwYXNzd29yZA==", "Basic [redacted]"],
    ["key AIzaSyA0123456789abcdefgh gsk_0123456789abcdef xai-0123456789abcdef", "key [redacted] [redacted] [redacted]"]
  ])("what looks like a secret goes: %s", (text, cleaned) => {
    expect(Secrets.shapes.redact(text)).toBe(cleaned)
  })

  it.each([
    "Bearer token required",
    "the basic authentication scheme is not supported",
    'providers.openai.apiKey: unknown key. Did you mean "apiKeyEnv"?',
    "the task-force on risk-free disk-management",
    "401 Unauthorized: authorization header missing",
    "see https://platform.openai.com/account/api-keys?tab=keys"
  ])("prose stays: %s", (text) => {
    expect(Secrets.shapes.redact(text)).toBe(text)
  })

  it("redacting twice equals redacting once", () => {
    const pieces = String.raw`sk-0123456789abc|Bearer |Basic |abcdef0123456789|x-api-key: |authorization=|?key=|&token=`
    const ends = String.raw`http://u:|pw1|@host|[redacted]|"|\| |:|{|planted-secret-1`
    const piece = fc.constantFrom(...`${pieces}|${ends}`.split("|"))
    Law.holdsWith({ numRuns: 2000 }, [fc.array(piece, { maxLength: 12 })], (pieces) => {
      const redact = redactor("planted-secret-1")
      const once = redact(pieces.join(""))
      expect(redact(once)).toBe(once)
    })
  })

  it("JSON stays JSON if a backslash precedes a secret that begins with a slash", () => {
    const planted = JSON.stringify({ text: "\\/planted-secret-1" })
    expect(JSON.parse(redactor("/planted-secret-1")(planted))).toEqual({ text: "\\[redacted]" })
    expect(redactor("/planted-secret-1")('{"text":"\\/planted-secret-1"}')).toBe('{"text":"[redacted]"}')
  })

  it.each([
    ["/planted-secret-1", ["[redacted]", "[redacted]", "\\\\[redacted]", "\\\\[redacted]"]],
    ["\\planted-secret-1", ["[redacted]", "[redacted]", "\\\\[redacted]", "\\\\[redacted]"]],
    ["planted-secret-1", ["[redacted]", "\\[redacted]", "\\\\[redacted]", "\\\\\\[redacted]"]]
  ])("no half of an escape stays if none to three backslashes precede the secret %s", (secret, cleaned) => {
    const conceal = Secrets.conceal([Redacted.make(secret)])
    expect([0, 1, 2, 3].map((count) => conceal(`a ${"\\".repeat(count)}${secret}`))).toEqual(
      cleaned.map((text) => `a ${text}`)
    )
  })

  it("JSON stays JSON if a secret is a number", () => {
    expect(redactor("12345678")('{"tenant":12345678}')).toBe('{"tenant":"[redacted]"}')
    expect(redactor("12345678")("\\12345678")).toBe("\\[redacted]")
  })

  it("JSON stays JSON", () =>
    Law.holds([secret, fc.json(), around], (secret, json, text) => {
      const planted = JSON.stringify({
        text: `${text}${secret} Bearer ${secret}`,
        [secret]: JSON.parse(json),
        headers: { "x-api-key": secret }
      })
      expect(() => JSON.parse(redactor(secret)(planted))).not.toThrow()
    }))

  it("text that might be base64 is searched once: 5 MB of it, for which a search from each character would take an hour", () => {
    const redact = redactor("planted-secret-of-some-length", "another-secret-of-some-length")
    const text = "cGxhbnRlZA".repeat(500_000)
    expect(redact(text) === text).toBe(true)
  })

  it("the query values of an address are secrets, except the version of an API", () => {
    const baseUrl = "https://x.example/openai?api-version=2024-10-21&auth=planted%2Fplanted"
    const config = Configurations.config({
      file: {
        model: "azure/gpt-5",
        providers: { azure: { type: "openai-compatible", baseUrl } },
        tools: { look: { url: "http://localhost:3001/mcp?auth=of-a-tool" } }
      }
    })
    const text = "2024-10-21 planted/planted planted%2Fplanted of-a-tool"
    expect(Secrets.make(Secrets.ofConfig(config)).redact(text)).toBe("2024-10-21 [redacted] [redacted] [redacted]")
  })

  it("every key, token, header and password of a configuration is a secret", () => {
    const config = Configurations.config({
      file: {
        server: { token: "the-token-the-token" },
        database: { url: "postgres://me:pass%23word%230123@db/holdfast" },
        model: "openai/gpt-5",
        providers: {
          openai: {
            type: "openai-compatible",
            apiKeyEnv: ["A", "B"],
            headers: { "X-Gateway": "gateway-value", Authorization: "Token header-value", "User-Agent": "harmless/1.0" }
          }
        }
      },
      environment: { A: "key-a-key-a", B: "key-b-key-b", ANTHROPIC_API_KEY: "key-c-key-c" }
    })
    const text =
      "the-token-the-token key-a-key-a key-b-key-b key-c-key-c gateway-value header-value pass#word#0123 pass%23word%230123 harmless/1.0"
    expect(Secrets.make(Secrets.ofConfig(config)).redact(text)).toBe(`${"[redacted] ".repeat(8)}harmless/1.0`)
  })
})
