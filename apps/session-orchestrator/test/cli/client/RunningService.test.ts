import { describe, expect, it } from "@effect/vitest"
import { ClientError } from "@holdfast/client"
import { Effect, Redacted, Result } from "effect"
import { DEFAULTS } from "../../../src/config/reading/Settings.ts"
import * as RunningService from "../../../src/cli/client/RunningService.ts"

const server = { ...DEFAULTS.server, token: undefined }

const addressOf = (...given: Parameters<typeof RunningService.addressOf>) =>
  Effect.runSync(Effect.result(RunningService.addressOf(...given)))

describe("the address of the service", () => {
  it.each([
    [undefined, {}, server, "http://127.0.0.1:4747"],
    [undefined, {}, { ...server, host: "0.0.0.0", port: 80 }, "http://127.0.0.1:80"],
    [undefined, {}, { ...server, host: "::" }, "http://[::1]:4747"],
    [undefined, { HOLDFAST_URL: "https://holdfast.internal/" }, server, "https://holdfast.internal"],
    ["http://a:1/under/", { HOLDFAST_URL: "http://b:2" }, server, "http://a:1/under"]
  ] as const)("is the flag's, or the variable's, or the configuration's: %s %o", (flag, environment, server, url) => {
    expect(addressOf(flag, environment, server)).toEqual(Result.succeed({ url, token: undefined }))
  })

  it("has the configuration's token", () => {
    const token = Redacted.make("a-token-of-some-length")
    const found = addressOf(undefined, {}, { ...server, token })
    expect(found).toMatchObject({ success: { token: "a-token-of-some-length" } })
  })

  it.each([
    ["ftp://a", {}, server, /^--url: /],
    ["http://user:secret@a", {}, server, /^--url: (?!.*secret)/],
    [undefined, { HOLDFAST_URL: "here" }, server, /^HOLDFAST_URL: /],
    [undefined, {}, { ...server, port: 0 }, /--url/]
  ] as const)("is refused where it is none: %s %o", (flag, environment, server, message) => {
    const found = addressOf(flag, environment, server)
    expect(Result.isFailure(found) ? found.failure.message : "").toMatch(message)
  })
})

describe("the words of a service that is not reached", () => {
  const causedBy = (cause: unknown) =>
    RunningService.wordsOf(new ClientError("unreachable", "The service at https://a:1 does not answer: no", { cause }))
  const away = (code: string) => causedBy(Object.assign(new Error("no"), { code }))

  it.each([
    ["ERR_SSL_WRONG_VERSION_NUMBER", "The service at https://a:1 does not answer: it speaks no TLS. Write http://"],
    ["ENOTFOUND", "The service at https://a:1 does not answer: there is no host of this name."],
    ["ECONNREFUSED", "The service at https://a:1 does not answer (ECONNREFUSED). Start it with `holdfast serve`"]
  ])("have the way out of %s", (code, words) => {
    expect(away(code)).toContain(words)
  })

  it("have its cause as it is, whatever was thrown", () => {
    const causes = ["gone", null, new Error("lost"), new Error("no", { cause: new Error("deep") }), { code: undefined }]
    const reasons = ["gone", "null", "lost", "deep", "[object Object]"]
    const start = "Start it with `holdfast serve`, or name it with --url."
    expect(causes.map(causedBy)).toEqual(
      reasons.map((reason) => `The service at https://a:1 does not answer (${reason}). ${start}`)
    )
  })

  it("name an address of something else as that", () => {
    const busy = [503, 504].map((status) => new ClientError("busy", "", { status }))
    expect([new ClientError("unreachable", ""), ...busy].map(RunningService.isAway)).toEqual([true, true, false])
    const detail = "GET /v1/health: status 404, and no problem of a Holdfast service"
    expect(RunningService.wordsOf(new ClientError("invalid-response", detail))).toMatch(/is no Holdfast service.*--url/)
  })
})
