import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as KeyRedaction from "../src/KeyRedaction.ts"

const conceal = (...secrets: ReadonlyArray<string>) =>
  KeyRedaction.conceal(secrets.map((secret) => Redacted.make(secret)))

describe("KeyRedaction", () => {
  it("every occurrence of every secret is removed, in the form in which it is sent", () => {
    expect(conceal("sk-key-1\n", " sk-key-2 ")("sk-key-1, sk-key-2, sk-key-1")).toBe(
      "[redacted], [redacted], [redacted]"
    )
  })

  it("bytes of a file that an endpoint quotes are left out, whole or cut", () => {
    const bytes = Buffer.alloc(4_000, 7).toString("base64")
    const said = conceal("sk-a-key")(`{"message":"Invalid image data:image/png;base64,${bytes}, sk-a-key"}`)
    expect(said).toBe('{"message":"Invalid image data:image/png;base64,[5336 characters of base64], [redacted]"}')
    expect(conceal()(`Not an image: ${bytes.slice(0, 999)}`)).toBe("Not an image: [999 characters of base64]")
    expect(conceal()(`${"A".repeat(512)}===, ${"B".repeat(511)}, ${"C".repeat(10_000_000)}`)).toBe(
      `[514 characters of base64]=, ${"B".repeat(511)}, [10000000 characters of base64]`
    )
    const words = "overloaded, please retry later. ".repeat(99)
    expect(conceal()(words)).toBe(words)
  })

  it("a value of under 8 characters removes nothing: texts are full of such", () => {
    expect(conceal("", " \n", "429", "quota", "1234567", "12345678")("quota 429 1234567 12345678")).toBe(
      "quota 429 1234567 [redacted]"
    )
  })

  it("JSON stays JSON, whatever the secret", () => {
    const text = '{"tenant":12345678,"note":"of 12345678","list":[1,"2"]}'
    expect(conceal("12345678")(text)).toBe('{"tenant":"[redacted]","note":"of [redacted]","list":[1,"2"]}')
    expect(JSON.parse(conceal('","list":')(text))).toEqual(JSON.parse(text))
  })

  it("the caller's redaction runs first", () => {
    const both = KeyRedaction.conceal([Redacted.make("sk-inner")], (text) =>
      text.replace("<", "sk-inner").replace(">", "!")
    )
    expect(both("<sk-inner>")).toBe("[redacted][redacted]!")
  })

  it("a failure's message, code and evidence are redacted, and absent keys stay absent", () => {
    const failure = { message: "no sk-a-key", code: "sk-a-key_bad", evidence: { "x-id": "req-sk-a-key" }, status: 401 }
    expect(KeyRedaction.inFailure(conceal("sk-a-key"), failure)).toEqual({
      message: "no [redacted]",
      code: "[redacted]_bad",
      evidence: { "x-id": "req-[redacted]" },
      status: 401
    })
    expect(Object.keys(KeyRedaction.inFailure(conceal("sk-a-key"), { message: "no" }))).toEqual(["message"])
  })
})
