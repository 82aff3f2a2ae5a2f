import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import type { UiMessagesGroup } from "@holdfast/wire/api"
import { Result } from "effect"
import * as UiHandlers from "../../../src/http/ui/UiHandlers.ts"

type Part = UiMessagesGroup.UiMessage["parts"][number]

const asked = (parts: ReadonlyArray<Part>, { chat = "chat", id = "m1", role = "user" } = {}) =>
  UiHandlers.asked({
    id: Ids.ConversationId.make(chat),
    messages: [
      { id: "m0", role: "user", parts: [] },
      { id, role, parts }
    ]
  })

const promptOf = (...parts: ReadonlyArray<Part>) => Result.getOrThrow(asked(parts)).prompt

const refusalOf = (...given: Parameters<typeof asked>) => Result.getOrThrow(Result.flip(asked(...given)))

describe("the prompt", () => {
  it("is the text of the user's last message", () => {
    expect(promptOf({ type: "text", text: "Hi" })).toBe("Hi")
    expect(promptOf({ type: "text", text: "a" }, { type: "text", text: "" }, { type: "text", text: "b" })).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b" }
    ])
  })

  it("has its files: data of any encoding, and https addresses", () => {
    const file = { type: "file", mediaType: "image/png", filename: "a.png", url: "data:image/png;base64,iVBORw0KGgo=" }
    expect(promptOf({ type: "text", text: "What is it?" }, file)).toEqual([
      { type: "text", text: "What is it?" },
      { type: "file", mediaType: "image/png", name: "a.png", data: "iVBORw0KGgo=" }
    ])
    expect(promptOf({ type: "file", mediaType: "Text/Plain; charset=utf-8", url: "data:text/plain,h%C3%A9" })).toEqual([
      { type: "file", mediaType: "text/plain", data: Buffer.from("hé").toString("base64") }
    ])
    const link = { type: "file", mediaType: "application/pdf", url: "https://example.org/a.pdf" }
    expect(promptOf(link)).toEqual([link])
  })

  it("has nothing of parts that are no input", () => {
    expect(promptOf({ type: "data-page", data: { a: 1 } }, { type: "text", text: "Hi", state: "done" })).toBe("Hi")
  })
})

describe("a message is refused", () => {
  it("with what was wrong, and what was expected", () => {
    const file = (url: string) => [{ type: "file", mediaType: "image/png", url }]
    expect(refusalOf([], { role: "assistant" })).toMatch(
      /^The last of "messages" has the role "assistant"\. Expected "user"/
    )
    for (const [parts, text] of [
      [[], 'The last of "messages" is no prompt: '],
      [file("http://example.org/a.png"), "part 0.url: expected an https address"],
      [file("data:image/png;base64"), "without data"],
      [file("data:image/png,%"), "cannot be decoded"]
    ] as const)
      expect(refusalOf(parts)).toContain(text)
    const nothing = UiHandlers.asked({ id: Ids.ConversationId.make("chat"), messages: [] })
    expect(Result.getOrThrow(Result.flip(nothing))).toContain('"messages" is empty')
  })
})

it("the turn's id follows from chat and message, whatever characters they have", () => {
  const idOf = (chat: string, id: string) =>
    Result.getOrThrow(asked([{ type: "text", text: "Hi" }], { chat, id })).turnId
  expect(idOf("chat", "m/1")).toBe(idOf("chat", "m/1"))
  expect(idOf("chat", "m/1")).toMatch(/^chat-[0-9a-f]{40}$/)
  expect(new Set([idOf("chat", "m1"), idOf("chat", "m2"), idOf("chat2", "m1"), idOf("chatm", "1")]).size).toBe(4)
})
