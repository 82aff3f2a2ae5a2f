import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as KeyRedaction from "../src/KeyRedaction.ts"

const conceal = (...secrets: ReadonlyArray<string>) =>
  KeyRedaction.conceal(secrets.map((secret) => Redacted.make(secret)))

describe("Secrets", () => {
  it("every occurrence of every secret is removed, in the form in which it is sent", () => {
    expect(conceal("key-1\n", " key-2 ")("key-1, key-2, key-1")).toBe("[redacted], [redacted], [redacted]")
  })

  it("bytes of a file that an endpoint quotes are left out, whole or cut", () => {
    const bytes = Buffer.alloc(4_000, 7).toString("base64")
    const said = conceal("key")(`{"message":"Invalid image data:image/png;base64,${bytes}, key"}`)
    expect(said).toBe('{"message":"Invalid image data:image/png;base64,[5336 characters of base64], [redacted]"}')
    expect(conceal()(`Not an image: ${bytes.slice(0, 999)}`)).toBe("Not an image: [999 characters of base64]")
    expect(conceal()(`${"A".repeat(512)}==, ${"B".repeat(511)}, ${"C".repeat(10_000_000)}`)).toBe(
      `[514 characters of base64], ${"B".repeat(511)}, [10000000 characters of base64]`
    )
    const words = "overloaded, please retry later. ".repeat(99)
    expect(conceal()(words)).toBe(words)
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
