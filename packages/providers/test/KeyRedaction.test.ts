import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as KeyRedaction from "../src/KeyRedaction.ts"

const conceal = (...secrets: ReadonlyArray<string>) =>
  KeyRedaction.conceal(secrets.map((secret) => Redacted.make(secret)))

describe("Secrets", () => {
  it("every occurrence of every secret is removed, in the form in which it is sent", () => {
    expect(conceal("key-1\n", " key-2 ")("key-1, key-2, key-1")).toBe("[redacted], [redacted], [redacted]")
  })

  it("an empty secret removes nothing", () => {
    expect(conceal("", " \n", "key")("a key b")).toBe("a [redacted] b")
  })

  it("the caller's redaction runs first", () => {
    const both = KeyRedaction.conceal([Redacted.make("inner")], (text) => text.replace("<", "inner").replace(">", "!"))
    expect(both("<inner>")).toBe("[redacted][redacted]!")
  })

  it("a failure's message, code and evidence are redacted, and absent keys stay absent", () => {
    const failure = { message: "no key", code: "key_bad", evidence: { "x-id": "req-key" }, status: 401 }
    expect(KeyRedaction.inFailure(conceal("key"), failure)).toEqual({
      message: "no [redacted]",
      code: "[redacted]_bad",
      evidence: { "x-id": "req-[redacted]" },
      status: 401
    })
    expect(Object.keys(KeyRedaction.inFailure(conceal("key"), { message: "no" }))).toEqual(["message"])
  })
})
