import { describe, expect, it } from "@effect/vitest"
import { Simulated } from "@holdfast/simulated"
import * as Serve from "../../src/cli/Serve.ts"
import * as Configurations from "../config/Configurations.ts"

const TOKEN = "planted-planted-planted"

/** The example command in the banner. */
const tried = (given: Configurations.ConfigurationInput): string => {
  const lines = Serve.banner(
    { version: "0", simulated: Simulated },
    Configurations.config(given),
    "http://127.0.0.1:4747"
  )
  return lines[lines.indexOf("Try it:") + 1] ?? ""
}

describe("the banner", () => {
  it("has a command to paste, without a token if there is none", () => {
    expect(tried({})).not.toContain("authorization")
  })

  it("reads the token from the service's own source, and never contains it", () => {
    const ofVariable = tried({ environment: { HOLDFAST_TOKEN: TOKEN } })
    expect(ofVariable).toContain('-H "authorization: Bearer $HOLDFAST_TOKEN"')
    const ofOther = tried({ file: { server: { tokenEnv: "MY_TOKEN" } }, environment: { MY_TOKEN: TOKEN } })
    expect(ofOther).toContain('-H "authorization: Bearer $MY_TOKEN"')
    const ofFile = tried({ file: { server: { token: TOKEN } } })
    expect(ofFile).toContain('-H "authorization: Bearer <server.token>"')
    for (const line of [ofVariable, ofOther, ofFile]) expect(line).not.toContain(TOKEN)
  })
})
