import { describe, expect, it } from "@effect/vitest"
import { Equal, Schema } from "effect"
import * as fc from "fast-check"
import * as Settings from "../../../src/config/reading/Settings.ts"

const decode = Schema.decodeUnknownSync(Settings.Settings, Settings.PARSE_OPTIONS)
const encode = Schema.encodeSync(Settings.Settings)

const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,12}$/)
const variable = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,12}$/)
const duration = fc
  .tuple(fc.integer({ min: 1, max: 1000 }), fc.constantFrom("millis", "seconds", "minutes", "hours"))
  .map(([n, unit]) => `${n} ${unit}`)
const target = fc.tuple(word, word).map(([provider, model]) => `${provider}/${model}`)
const targets = fc.uniqueArray(target, { maxLength: 3 })
const record = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T) => fc.record(fields, { requiredKeys: [] })

const settings = record({
  server: record({
    host: word,
    port: fc.integer({ min: 0, max: 65_535 }),
    hostnames: fc.array(word, { maxLength: 3 }),
    allowedOrigins: fc.constantFrom([], ["https://app.example.org"]),
    token: fc.string({ minLength: 16, maxLength: 40 }),
    tokenEnv: variable
  }),
  database: record({ path: word, retention: duration }),
  providers: fc.dictionary(
    word,
    fc.record(
      {
        type: fc.constantFrom("openai-compatible", "anthropic", "openai-responses", "gemini", "simulated"),
        baseUrl: fc.webUrl({ validSchemes: ["http", "https"] }),
        apiKeyEnv: fc.oneof(variable, fc.array(variable, { maxLength: 3 })),
        headers: fc.dictionary(word, fc.stringMatching(/^[ -~]{0,20}$/), { maxKeys: 3 })
      },
      { requiredKeys: ["type"] }
    ),
    { maxKeys: 3 }
  ),
  model: target,
  retry: record({
    profile: fc.constantFrom("overnight", "interactive", "cycling"),
    enabled: fc.boolean(),
    schedule: fc.oneof(
      fc.record({
        type: fc.constant("steps"),
        delays: fc.array(duration, { minLength: 1, maxLength: 5 }),
        tail: duration
      }),
      fc.record({ type: fc.constant("exponential"), base: duration, factor: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ type: fc.constant("linear"), base: duration, increment: duration })
    ),
    maxRetries: fc.nat({ max: 1000 }),
    budget: duration,
    maxDelay: duration,
    hints: fc.boolean(),
    reasons: record({
      network: record({ schedule: fc.constant("none"), hint: fc.constant("replace"), atMost: duration }),
      "rate-limited": record({ schedule: fc.record({ type: fc.constant("linear"), base: duration }) })
    }),
    routing: fc.oneof(
      record({
        chains: fc.dictionary(target, targets, { maxKeys: 3 }),
        revert: fc.constant("never"),
        cooldown: duration
      }).map((chain) => ({ type: "fallback-chain", ...chain })),
      record({ targets }).map((robin) => ({ type: "round-robin", ...robin }))
    ),
    maxTurns: fc.integer({ min: 1, max: 100 }),
    finalReport: fc.record({ schema: fc.constant({ type: "object", properties: {} }) })
  })
})

describe("Settings", () => {
  it("settings of a valid file encode to settings that decode to the same", () => {
    fc.assert(
      fc.property(settings, (written) => {
        const decoded = decode(written)
        expect(Equal.equals(decode(encode(decoded)), decoded)).toBe(true)
      })
    )
  })

  it("prints no token and no header", () => {
    const decoded = decode({
      server: { token: "planted-planted-planted" },
      providers: { a: { type: "anthropic", headers: { "x-key": "planted" } } }
    })
    expect(JSON.stringify(decoded)).not.toContain("planted")
    expect(String(decoded.server?.token)).not.toContain("planted")
  })
})
