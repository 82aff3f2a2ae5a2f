import { describe, expect, it } from "@effect/vitest"
import * as ConfigCheck from "../../src/cli/ConfigCheck.ts"
import * as Environment from "../../src/config/reading/Environment.ts"
import * as Secrets from "../../src/config/redaction/Secrets.ts"
import * as Configurations from "./Configurations.ts"

const proxiesOf = (environment: Readonly<Record<string, string>>) =>
  Environment.proxiesOf(Configurations.config({ environment }))

describe("proxies", () => {
  it("there are none if no variable is set, or only NO_PROXY", () => {
    expect(proxiesOf({})).toBeUndefined()
    expect(proxiesOf({ NO_PROXY: "localhost", HTTP_PROXY: "", https_proxy: "" })).toBeUndefined()
  })

  it("lower case overrides upper case, and an empty variable is not set", () => {
    const upper = { HTTP_PROXY: "http://upper:1", HTTPS_PROXY: "http://upper:2", NO_PROXY: "upper" }
    const lower = { http_proxy: "http://lower:1", https_proxy: "", no_proxy: "lower" }
    const used = { http: "http://lower:1/", https: "http://upper:2/", exceptions: "lower" }
    expect(proxiesOf({ ...upper, ...lower })).toEqual(used)
  })

  it("host:port alone is an address", () => {
    const used = { http: undefined, https: "http://user:pass@proxy.example.org:3128/", exceptions: "" }
    expect(proxiesOf({ https_proxy: "user:pass@proxy.example.org:3128" })).toEqual(used)
  })

  it.each(["socks5://127.0.0.1:1", "http://", "no address", "ftp://x:1/"])("%s is refused unquoted", (address) => {
    expect(Configurations.problems({ environment: { https_proxy: address } })).toEqual([
      'https_proxy: expected the address of an HTTP proxy, such as "http://proxy.example.org:3128".'
    ])
  })

  it("credentials are secrets: the password, and it behind its user in base64; a user alone", () => {
    const proxies = { HTTP_PROXY: "http://night:p%2Bss:w0rd@a:1", HTTPS_PROXY: "http://token-0123456@b:1" }
    const config = Configurations.config({ environment: { ...proxies, NO_PROXY: "c" } })
    const { redact } = Secrets.make(Secrets.ofConfig(config))
    const sent = Buffer.from("night:p+ss:w0rd").toString("base64")
    for (const secret of ["p%2Bss:w0rd", "p+ss:w0rd", sent, "token-0123456"]) {
      expect(redact(`at night it said ${secret}.`), secret).not.toContain(secret)
    }
    expect(redact("at night")).toBe("at night")
    expect(JSON.stringify(config)).not.toMatch(/w0rd|token-0123456/)
    const report = ConfigCheck.report(config)
    expect(report.filter((line) => line.includes("_PROXY")).map((line) => line.trim().split(/\s+/))).toEqual([
      ["HTTP_PROXY", "http://[redacted]@a:1/"],
      ["HTTPS_PROXY", "http://[redacted]@b:1/"],
      ["NO_PROXY", "c"]
    ])
  })
})
