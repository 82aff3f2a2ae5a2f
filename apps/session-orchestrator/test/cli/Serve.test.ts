import { describe, expect, it } from "@effect/vitest"
import { Simulated } from "@holdfast/simulated"
import * as Serve from "../../src/cli/Serve.ts"
import * as Configurations from "../config/Configurations.ts"

/** The example in the banner. */
const tried = (url: string, environment: Readonly<Record<string, string>> = {}) =>
  Serve.banner(
    { version: "0", simulated: Simulated, environment },
    Configurations.config({ environment: { HOLDFAST_TOKEN: "planted-planted-planted" } }),
    url
  ).find((line) => line.startsWith("Try it: "))

describe("the banner", () => {
  it("has a short command to paste, which the shell knows that started the service", () => {
    expect(tried("http://127.0.0.1:4747")).toBe('Try it: holdfast run "Hello"')
    expect(tried("http://127.0.0.1:80")).toBe('Try it: holdfast run "Hello" --url http://127.0.0.1:80')
    const script = tried("http://127.0.0.1:4747", { npm_lifecycle_event: "start" })
    expect(script).toBe('Try it: npx --yes pnpm@12 holdfast run "Hello"')
  })
})
