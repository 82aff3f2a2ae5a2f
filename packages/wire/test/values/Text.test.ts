import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as ConversationsGroup from "../../src/api/ConversationsGroup.ts"
import * as NewConversation from "../../src/api/NewConversation.ts"
import * as TurnsGroup from "../../src/api/TurnsGroup.ts"
import * as Text from "../../src/values/Text.ts"

describe("Text", () => {
  it("findNul finds the first place of a value that has U+0000, in a string or in a key", () => {
    expect(Text.findNul({ a: ["x", { b: "12\0" }], c: "\0" })).toEqual({
      path: ["a", 1, "b"],
      message: "expected text without the character U+0000, which is at position 2"
    })
    expect(Text.findNul({ a: { "b\0": 1 } })).toEqual({
      path: ["a"],
      message: "expected keys without the character U+0000"
    })
    expect(Text.findNul("\0")).toMatchObject({ path: [] })
    expect(Text.findNul({ a: ["x", 1, null, true, { b: "" }] })).toBeUndefined()
  })

  it("findNul takes a value of any depth", () => {
    let deep: unknown = "\0"
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(Text.findNul(deep)?.path).toHaveLength(100_000)
  })

  it("no text of a request may have U+0000", () => {
    const refuses = (schema: Schema.Codec<unknown, unknown>, input: unknown) =>
      Result.isFailure(Schema.decodeUnknownResult(schema)(input))
    const { switchTarget } = ConversationsGroup.bodies
    const { CreateConversation } = NewConversation
    expect(refuses(TurnsGroup.RunTurn, { prompt: "a" })).toBe(false)
    expect(refuses(TurnsGroup.RunTurn, { prompt: "a\0" })).toBe(true)
    expect(refuses(TurnsGroup.RunTurn, { prompt: "a", turnId: "t\0" })).toBe(true)
    expect(refuses(CreateConversation, { model: "a/b", system: "s", retry: { profile: "overnight" } })).toBe(false)
    expect(refuses(CreateConversation, { model: "a/b\0" })).toBe(true)
    expect(refuses(CreateConversation, { system: "\0" })).toBe(true)
    expect(refuses(CreateConversation, { retry: { finalReport: { schema: { title: "\0" } } } })).toBe(true)
    expect(refuses(switchTarget, { model: "a/b" })).toBe(false)
    expect(refuses(switchTarget, { model: "a/b\0" })).toBe(true)
  })
})
