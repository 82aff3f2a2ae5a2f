import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as FilePart from "../src/FilePart.ts"
import { MessageId, TurnId } from "../src/Ids.ts"
import { Message, withPlaceholders } from "../src/Message.ts"
import * as Prompt from "../src/Prompt.ts"
import { NonEmptyText } from "../src/values/Text.ts"

const decode = Schema.decodeUnknownResult(Prompt.Prompt, { onExcessProperty: "error", errors: "all" })

/** What a prompt is refused with. */
const refusal = (prompt: unknown): string => {
  const decoded = decode(prompt)
  return Result.isFailure(decoded) ? decoded.failure.message : "it was taken"
}

const NotBlank = NonEmptyText.check(Schema.makeFilter<string>((text) => text.trim() !== ""))

/** Every prompt, with files of both forms. */
const AnyPrompt = Schema.Union([
  NotBlank,
  Schema.NonEmptyArray(Schema.Union([Schema.Struct({ type: Schema.tag("text"), text: NotBlank }), FilePart.FilePart]))
])

const png = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" } as const

describe("a prompt", () => {
  it.prop(
    "with parts is the same after JSON, with nothing lost and in its order",
    { prompt: AnyPrompt },
    ({ prompt }) => {
      const read = decode(JSON.parse(JSON.stringify(prompt)))
      assert.deepStrictEqual(Result.getOrThrow(read), prompt)
      const parts = Prompt.partsOf(prompt)
      assert.deepStrictEqual(Prompt.partsOf(Prompt.plain(prompt)), parts)
      const message = Schema.decodeUnknownSync(Message)({
        role: "user",
        id: "t_1.0",
        turnId: "t_1",
        createdAt: 0,
        content: JSON.parse(JSON.stringify(parts))
      })
      assert.deepStrictEqual(message.content, parts)
    }
  )

  it("of one text is that text", () => {
    assert.strictEqual(Prompt.plain([{ type: "text", text: "Hello" }]), "Hello")
    assert.deepStrictEqual(Prompt.plain([{ ...png }]), [png])
  })

  it("is refused with the part and the reason, and without its bytes", () => {
    const data = "!".repeat(99)
    const refused = refusal([
      { type: "text", text: "What is it?" },
      { ...png, data }
    ])
    assert.include(refused, '[1]["data"]')
    assert.include(refused, "expected the file's bytes as base64")
    assert.notInclude(refused, "!!!")
  })

  it.each([
    ["neither bytes nor an address", { type: "file", mediaType: "image/png" }, "expected data or url"],
    ["bytes and an address", { ...png, url: "https://a.example/b" }, "expected data or url"],
    [
      "an address that is not https",
      { type: "file", mediaType: "image/png", url: "http://a.example/b" },
      "expected an https address"
    ],
    [
      "a user in its address",
      { type: "file", mediaType: "image/png", url: "https://u:p@a.example/b" },
      "expected an https address"
    ],
    ["half a base64", { ...png, data: "abc" }, "expected the file's bytes as base64"],
    ["padding in its middle", { ...png, data: "ab=cabcd" }, "expected the file's bytes as base64"],
    ["no bytes", { ...png, data: "" }, "expected the file's bytes as base64"],
    ["a media type that is none", { ...png, mediaType: "png" }, "expected a media type"],
    ["a folder in its name", { ...png, name: "a/b.png" }, "expected a file's name"]
  ])("is refused with %s", (_, part, expected) => {
    assert.include(refusal([part]), expected)
  })

  it("is refused with white space alone; beside a file or another text that is taken", () => {
    const blank = { type: "text", text: " \n\u00a0" }
    for (const prompt of ["", blank.text, [blank], [blank, blank]])
      assert.notStrictEqual(refusal(prompt), "it was taken")
    for (const other of [png, { type: "text", text: "." }]) assert.strictEqual(refusal([blank, other]), "it was taken")
  })

  it("is refused without parts, and with more than a provider takes", () => {
    assert.notStrictEqual(refusal([]), "it was taken")
    assert.include(refusal(Array.from({ length: Prompt.MOST_PARTS + 1 }, () => png)), "expected 100 parts at most")
  })
})

describe("the placeholder of a file", () => {
  const sized = (bytes: number): FilePart.FileBytes => ({ ...png, data: Buffer.alloc(bytes).toString("base64") })

  it.each([
    [sized(34_100), "[image image/png 34 kB]"],
    [sized(1), "[image image/png 1 byte]"],
    [sized(812), "[image image/png 812 bytes]"],
    [sized(999_499), "[image image/png 999 kB]"],
    [sized(999_500), "[image image/png 1 MB]"],
    [sized(5_240_000), "[image image/png 5.2 MB]"],
    [
      { type: "file", mediaType: "application/pdf", data: "JVBERi0x", name: "a b.pdf" },
      "[file application/pdf 6 bytes a b.pdf]"
    ],
    [{ type: "file", mediaType: "audio/wav", data: "UklGRg==" }, "[audio audio/wav 4 bytes]"],
    [
      { type: "file", mediaType: "image/*", url: "https://a.example:8443/b?signature=secret" },
      "[image image/* at a.example:8443]"
    ]
  ] satisfies ReadonlyArray<readonly [FilePart.FilePart, string]>)("%# is its type, size and name", (part, text) => {
    assert.strictEqual(FilePart.placeholderOf(part), text)
  })

  it.prop("never has its bytes", { part: FilePart.FilePart }, ({ part }) => {
    const data = "D4taD4ta".repeat(9)
    assert.notInclude(FilePart.placeholderOf("data" in part ? { ...part, data } : part), "D4ta")
  })

  it("gives the size of the bytes, whatever their padding", () => {
    for (const bytes of [1, 2, 3, 4, 1_000]) assert.strictEqual(FilePart.sizeOf(sized(bytes)), bytes)
  })
})

it("a message with placeholders has none of its files, and is the same otherwise", () => {
  const common = { id: MessageId.make("t.0"), turnId: TurnId.make("t"), createdAt: 0 }
  const user: Message = { role: "user", ...common, content: [{ type: "text", text: "What is it?" }, png] }
  assert.deepStrictEqual(withPlaceholders(user), {
    ...user,
    content: [
      { type: "text", text: "What is it?" },
      { type: "text", text: "[image image/png 8 bytes]" }
    ]
  })
  const result = { type: "tool-result" as const, toolCallId: "c", toolName: "look", output: "[image]", isError: false }
  const tool: Message = { role: "tool", ...common, content: [{ ...result, content: [png] }] }
  assert.deepStrictEqual(withPlaceholders(tool), { ...tool, content: [result] })
})

it("base64 of 12 MB is checked without overflowing the stack", () => {
  assert.isTrue(Schema.is(FilePart.FilePart)({ ...png, data: "A".repeat(16_000_000) }))
  assert.isFalse(Schema.is(FilePart.FilePart)({ ...png, data: `${"A".repeat(15_999_999)}!` }))
})
