import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import * as JsonText from "../../src/config/JsonText.ts"

const faultOf = (text: string): string =>
  Result.match(JsonText.parse(text), {
    onSuccess: () => "none",
    onFailure: ({ column, line, message }) => `${line}:${column} ${message}`
  })

describe("JsonText", () => {
  it("reads every JSON value as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 2), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), undefined, indent)
        expect(JsonText.parse(text)).toEqual(Result.succeed(JSON.parse(text)))
      })
    )
  })

  it("refuses exactly what JSON.parse refuses, duplicate keys apart", () => {
    const token = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"a"',
      '"b"',
      "1",
      "-",
      "01",
      "1.5e3",
      "true",
      "nul",
      " ",
      "\n",
      "'",
      "//"
    )
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
        const text = tokens.join("")
        const fault = faultOf(text)
        if (fault.includes("there twice")) return
        let isAccepted = true
        try {
          JSON.parse(text)
        } catch {
          isAccepted = false
        }
        expect(fault === "none", text).toBe(isAccepted)
      }),
      { numRuns: 3000 }
    )
  })

  it.each<[string, string]>([
    ["", "1:1 found the end of the text; expected a value"],
    ['{\n  "a": 1,\n}', '3:1 found "}"; expected another key. Remove the comma before it'],
    ["[1, 2, ]", '1:8 found "]"; expected another value. Remove the comma before it'],
    ['{ "a" 1 }', '1:7 found "1"; expected a ":" after the key'],
    ['{ "a": 1\r\n  "b": 2 }', '2:3 found "\\""; expected "," or "}"'],
    ["{ 'a': 1 }", '1:3 found "\'"; expected a key in double quotes'],
    ["{ \"a\": 'x' }", '1:8 found "\'"; expected a value. Strings are in double quotes'],
    ['{\n  // port\n  "a": 1\n}', "2:3 found a comment; expected a key in double quotes. JSON has no comments"],
    ['{ "a": 1, "a": 2 }', '1:11 the key "a" is there twice'],
    ['{ "a": "x\ny" }', "1:8 this string does not end on its line, or has a bad escape in it"],
    ["{} {}", '1:4 found "{"; expected nothing more. The value is complete before this'],
    ["[".repeat(200), "1:102 nested more than 100 levels deep"]
  ])("names the place of the fault in %j", (text, fault) => {
    expect(faultOf(text)).toBe(fault)
  })

  it("does not mind a byte order mark", () => {
    expect(JsonText.parse('\uFEFF{"a":1}')).toEqual(Result.succeed({ a: 1 }))
  })

  it("quotes nothing of a string in which the fault is", () => {
    expect(faultOf('{ "key": "sk-secret-secret\n" }')).not.toContain("secret")
  })
})
