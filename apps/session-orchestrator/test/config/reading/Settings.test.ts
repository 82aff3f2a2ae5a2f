import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Settings from "../../../src/config/reading/Settings.ts"

const decode = Schema.decodeUnknownSync(Settings.Settings, Settings.PARSE_OPTIONS)

describe("Settings", () => {
  it("prints no token and no header", () => {
    const decoded = decode({
      server: { token: "planted-planted-planted" },
      providers: { a: { type: "anthropic", headers: { "x-key": "planted" } } }
    })
    expect(JSON.stringify(decoded)).not.toContain("planted")
    expect(String(decoded.server?.token)).not.toContain("planted")
  })
})
