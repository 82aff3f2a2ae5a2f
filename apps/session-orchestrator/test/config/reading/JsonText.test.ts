import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import * as JsonText from "../../../src/config/reading/JsonText.ts"
import * as JsonWithComments from "../JsonWithComments.ts"
import * as Law from "../../Law.ts"

const valueOf = (text: string) => Result.map(JsonText.read(text), ({ content }) => content)

const placesOf = (text: string) => Result.getOrThrow(JsonText.read(text)).places

const faultOf = (text: string): string =>
  Result.match(JsonText.read(text), {
    onSuccess: () => "none",
    onFailure: ({ column, line, message }) => `${line}:${column} ${message}`
  })

/** See the keys of `JsonWithComments`. */
const hasNoBackslash = (json: string): boolean => !json.includes("\\\\")

describe("JsonText", () => {
  it("reads every JSON value as JSON.parse does", () =>
    Law.holds([fc.json().filter(hasNoBackslash), fc.constantFrom(undefined, 2)], (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), undefined, indent)
      expect(valueOf(text)).toEqual(Result.succeed(JSON.parse(text)))
    }))

  it("comments and trailing commas change no value", () =>
    Law.holdsWith(
      { numRuns: 1_000 },
      [JsonWithComments.arbitrary],
      ({ plain, text }) => void expect(valueOf(text), text).toEqual(Result.succeed(JSON.parse(plain)))
    ))

  it("the key __proto__ is a key like any other", () => {
    const text = '{ "__proto__": { "a": 1, }, /* b */ "b": [2,], }'
    const value = Result.getOrThrow(valueOf(text))
    expect(JSON.stringify(Object.entries(Object(value)))).toBe('[["__proto__",{"a":1}],["b",[2]]]')
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  })

  it("refuses exactly what JSON.parse refuses, except comments, trailing commas and duplicate keys", () => {
    const characters = "{}[]:,-'/* \n\r\f\u00a0\u2028\u0000"
    const strings = ['"a"', '"b"', '"\\u0061"', '"\\x"', '"\t"', '"']
    const numbers = ["1", "-1", "01", "1.5e3", "1.", ".5", "1e", "+1", "NaN"]
    const token = fc.constantFrom(...characters, ...strings, ...numbers, "true", "truex", "nul")
    Law.holdsWith({ numRuns: 5_000 }, [fc.array(token, { maxLength: 12 })], (tokens) => {
      const text = tokens.join("")
      fc.pre(!/\/[/*]|,[ \n\r]*[}\]]/.test(text))
      const fault = faultOf(text)
      if (fault.includes("there twice")) return
      let isAccepted = true
      try {
        JSON.parse(text)
      } catch {
        isAccepted = false
      }
      expect(fault === "none", text).toBe(isAccepted)
    })
  })

  it.each<[string, string]>([
    ["", "1:1 found the end of the text; expected a value"],
    ["// nothing yet", "1:15 found the end of the text; expected a value"],
    ['{\n  "a": 1,,\n}', '2:10 found ","; expected a key in double quotes'],
    ["{,}", '1:2 found ","; expected a key in double quotes'],
    ["[1,, ]", '1:4 found ","; expected a value'],
    ["[,]", '1:2 found ","; expected a value'],
    ["{ 1: 2 }", '1:3 found "1"; expected a key in double quotes'],
    ["{ a: 2 }", '1:3 found "a"; expected a key in double quotes'],
    ['{ "a" 1 }', '1:7 found "1"; expected a ":" after the key'],
    ['{ "a": }', '1:8 found "}"; expected a value'],
    ['{ "a": 1\r\n  "b": 2 }', '2:3 found "\\""; expected "," or "}"'],
    ["[1 2]", '1:4 found "2"; expected "," or "]"'],
    ['{ "a": [1, {}, [] }', '1:19 found "}"; expected "," or "]"'],
    ["{ 'a': 1 }", '1:3 found "\'"; expected a key in double quotes'],
    ["{ \"a\": 'x' }", '1:8 found "\'"; expected a value. Strings are in double quotes'],
    ['{ "a": nul }', '1:8 found "n"; expected a value'],
    ['{ "a": 1, "b": 2,\n  "a": 2 }', '2:3 the key "a" is there twice, first in line 1. Keep one of them'],
    ['{ "a": "x\ny" }', "1:8 this string does not end on its line"],
    ['{ "a": "x\ty" }', "1:8 this string has a control character in it; expected an escape such as \\t"],
    ['{ "a\\d": 1 }', '1:3 this string has a bad escape in it; expected \\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u'],
    ['"\\u12g4"', "1:1 this string has a bad escape in it; expected four hexadecimal digits after \\u"],
    ["[1.]", "1:2 this number is not complete; expected a digit"],
    ["[1] /* and\nmore", "1:5 this comment has no end; expected */"],
    ["{} {}", '1:4 found "{"; expected nothing more. The value is complete before this'],
    ["{", "1:2 found the end of the text; expected a key in double quotes"],
    ['{ "a": [1', '1:10 found the end of the text; expected "," or "]"'],
    ['{ "a": 1,\n', "2:1 found the end of the text; expected a key in double quotes"],
    ["\u0000{}", '1:1 found "\\u0000"; expected a value'],
    ["[😀]", '1:2 found "😀"; expected a value']
  ])("names the place of the fault in %j", (text, fault) => {
    expect(faultOf(text)).toBe(fault)
  })

  it("a key may occur once in each object", () => {
    expect(faultOf('{ "a": { "a": 1 }, "b": [{ "a": 1 }, { "a": 2 }] }')).toBe("none")
    expect(faultOf('{ "a": { "b": 1 },\n "\\u0061": 1 }')).toBe(
      '2:2 the key "a" is there twice, first in line 1. Keep one of them'
    )
  })

  it.each([5_000, 1_000_000])("%d levels are refused where the limit is passed, and 100 are read", (levels) => {
    expect(faultOf("[".repeat(100) + "]".repeat(100))).toBe("none")
    expect(faultOf("[".repeat(levels) + "]".repeat(levels))).toBe("1:101 nested more than 100 levels deep")
    expect(faultOf('{"a":'.repeat(levels))).toBe("1:501 nested more than 100 levels deep")
  })

  it("ignores a byte order mark, which is no column", () => {
    expect(valueOf('\uFEFF{"a":1}')).toEqual(Result.succeed({ a: 1 }))
    expect(faultOf("\uFEFF{]")).toBe('1:2 found "]"; expected a key in double quotes')
  })

  it.each(['{ "a": "secret\n" }', '{ "a": secret }', '{ "a": "a" "secret" }'])("quotes nothing in %j", (text) => {
    expect(faultOf(text)).not.toContain("secret")
  })

  it("a long file with many comments is read", () => {
    const lines = Array.from({ length: 50_000 }, (_, n) => `  "key ${n}": [${n},], // the value of ${n}`)
    const value = Result.getOrThrow(valueOf(`{\n${lines.join("\n")}\n}`))
    expect(Object.entries(Object(value)).length).toBe(50_000)
    expect(Object(value)["key 49999"]).toEqual([49_999])
  })

  it("returns the position of every key and element", () => {
    const text = '\uFEFF// keys\n{ "a": {\n    /* one */ "b": 1 },\n  "c": [1,\n   { "d": [] },\n [2]] }'
    const places = placesOf(text).map(({ path, position }) => `${path.join("/")} ${position.line}:${position.column}`)
    expect(places.join(", ")).toBe("a 2:3, a/b 3:15, c 4:3, c/0 4:9, c/1 5:4, c/1/d 5:6, c/2 6:2, c/2/0 6:3")
  })

  it("the position of each key is that of its text", () =>
    Law.holds([JsonWithComments.arbitrary], ({ text }) => {
      const lines = text.split(/\r\n|[\n\r]/)
      for (const { path, position } of placesOf(text)) {
        const key = path.at(-1)
        if (typeof key !== "string") continue
        expect(lines[position.line - 1]?.slice(position.column - 1), text).toMatch(/^"/)
        expect(lines[position.line - 1]?.slice(position.column - 1).startsWith(JSON.stringify(key)), text).toBe(true)
      }
    }))
})
