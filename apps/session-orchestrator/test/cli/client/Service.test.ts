import { describe, expect, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import { DEFAULTS } from "../../../src/config/reading/Settings.ts"
import * as Service from "../../../src/cli/client/Service.ts"

const server = { ...DEFAULTS.server, token: undefined }

describe("the address of the service", () => {
  it.each([
    [undefined, {}, server, "http://127.0.0.1:4747"],
    [undefined, {}, { ...server, host: "0.0.0.0", port: 80 }, "http://127.0.0.1:80"],
    [undefined, {}, { ...server, host: "::" }, "http://[::1]:4747"],
    [undefined, { HOLDFAST_URL: "https://holdfast.internal/" }, server, "https://holdfast.internal"],
    ["http://a:1/under/", { HOLDFAST_URL: "http://b:2" }, server, "http://a:1/under"]
  ] as const)("is the flag's, or the variable's, or the configuration's: %s %o", (flag, environment, server, url) => {
    expect(Service.addressOf(flag, environment, server)).toEqual(Result.succeed({ url, token: undefined }))
  })

  it("has the configuration's token", () => {
    const token = Redacted.make("a-token-of-some-length")
    expect(Service.addressOf(undefined, {}, { ...server, token })).toMatchObject({
      success: { token: "a-token-of-some-length" }
    })
  })

  it.each([
    ["ftp://a", {}, server, /^--url: /],
    ["http://user:secret@a", {}, server, /^--url: (?!.*secret)/],
    [undefined, { HOLDFAST_URL: "here" }, server, /^HOLDFAST_URL: /],
    [undefined, {}, { ...server, port: 0 }, /--url/]
  ] as const)("is refused where it is none: %s %o", (flag, environment, server, message) => {
    const found = Service.addressOf(flag, environment, server)
    expect(Result.isFailure(found) ? found.failure : "").toMatch(message)
  })
})
