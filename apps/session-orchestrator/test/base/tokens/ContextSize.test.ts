import { assert, describe, it } from "@effect/vitest"
import { defined, type FilePart, Ids, type Message } from "@holdfast/wire"
import * as ContextSize from "../../../src/base/tokens/ContextSize.ts"
import * as Tokenizer from "../../../src/base/tokens/Tokenizer.ts"

const turnId = Ids.TurnId.make("t")

/** A count that is easy to check. */
const words = (text: string): number => text.split(" ").filter((word) => word !== "").length

const user = (text: string, at = 0, more: Partial<Message.UserMessage> = {}): Message.UserMessage => ({
  role: "user",
  id: Ids.messageIdOf(turnId, at),
  turnId,
  createdAt: at,
  content: [{ type: "text", text }],
  ...more
})

const answer = (text: string, at: number, usage?: Message.Usage): Message.AssistantMessage => ({
  role: "assistant",
  id: Ids.messageIdOf(turnId, at),
  turnId,
  createdAt: at,
  content: [{ type: "text", text }],
  target: { provider: "test", model: "m" },
  ...defined({ usage })
})

const sizeOf = (messages: ReadonlyArray<Message.Message>, system?: string): number =>
  ContextSize.of({ messages, tools: [], system }, words)

/** The size of one message. */
const FRAME = 4

describe("the size of a context", () => {
  it("rule P8, A11: is counted if no provider has reported it", () => {
    assert.strictEqual(sizeOf([user("one two three")]), FRAME + 3)
    assert.strictEqual(sizeOf([user("one two"), answer("three", 1)], "be brief"), 2 * FRAME + 5)
    const tool = { name: "look", inputSchema: {} }
    assert.isAbove(ContextSize.of({ messages: [user("one")], tools: [tool], system: undefined }, words), FRAME + 1)
  })

  it("rule A11: is the provider's count of its last answer plus a count of the later messages", () => {
    const told = answer("three four", 1, { inputTokens: 1_000, outputTokens: 50 })
    assert.strictEqual(sizeOf([user("one two"), told, user("and five", 2)]), 1_050 + FRAME + 2)
    assert.strictEqual(sizeOf([user("one"), answer("two", 1, { inputTokens: 7 })]), 7)
    assert.strictEqual(sizeOf([user("one"), answer("two three", 1, { outputTokens: 7 })]), 2 * FRAME + 3)
    const both = [told, user("and", 2), answer("five", 3, { inputTokens: 2_000 })]
    assert.strictEqual(sizeOf([user("one"), ...both]), 2_000)
  })

  it("has an overhead for each tool, and memory is counted in characters of a message's content", () => {
    const tool = { name: "look", inputSchema: {} }
    const system = undefined
    const [one, two] = [1, 2].map((count) =>
      ContextSize.of({ messages: [], tools: Array.from({ length: count }, () => tool), system }, words)
    )
    assert.deepStrictEqual([one, two], [FRAME + 1, 2 * (FRAME + 1)])
    assert.strictEqual(ContextSize.charactersOf([user("four"), answer("five!", 1)]), 2 * 256 + 9)
    assert.deepStrictEqual([undefined, user("four").content].map(ContextSize.charactersOfParts), [0, 4])
    assert.deepStrictEqual(["", "a", "abcd", "abcde"].map(ContextSize.estimate), [0, 1, 1, 2])
  })

  it("has of a file an estimate by its type and size, and its characters in memory", () => {
    const file = (mediaType: string, more: object) => ({ type: "file", mediaType, ...more }) as FilePart.FilePart
    const sizes = (part: FilePart.FilePart) => {
      const messages = [user("", 0, { content: [part] })]
      return [sizeOf(messages) - FRAME, ContextSize.charactersOf(messages) - 256]
    }
    const data = "A".repeat(80) // 60 bytes
    assert.deepStrictEqual(sizes(file("image/png", { data })), [1_600, 80])
    assert.deepStrictEqual(sizes(file("text/plain", { data })), [15, 80])
    assert.deepStrictEqual(sizes(file("application/pdf", { data })), [2, 80])
    assert.deepStrictEqual(sizes(file("application/pdf", { url: "https://a/" })), [1_600, 10])
  })

  it("has of a tool's result its parts, or its output, and counts each message once", () => {
    const result = (more: object): Message.ToolMessage => ({
      ...answer("", 1),
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "a", toolName: "a", output: "one two", isError: false, ...more }]
    })
    const messages = [result({ content: [{ type: "text", text: "three" }] }), result({})]
    let counts = 0
    const counted = (text: string): number => {
      counts++
      return words(text)
    }
    for (let n = 0; n < 2; n++)
      assert.strictEqual(ContextSize.of({ messages, tools: [], system: "" }, counted), 2 * FRAME + 3)
    assert.strictEqual(counts, 2 + 2)
    assert.strictEqual(ContextSize.charactersOf(messages), 2 * 256 + 7 + 5 + 7)
  })

  it("rule P19: is counted again once a summary replaces messages that the provider had counted", () => {
    const told = answer("three", 1, { inputTokens: 90_000, outputTokens: 50 })
    const summary = user("it was long", 5, { synthetic: true, summary: { upTo: Ids.messageIdOf(turnId, 0) } })
    assert.strictEqual(sizeOf([summary, told]), 2 * FRAME + 4)
    for (const known of [user("later", 5), { ...summary, createdAt: 1 }])
      assert.strictEqual(sizeOf([known, told]), 90_050)
  })

  it("a real text has about as many tokens as words, and special tokens of the encoding are text", () => {
    const { count } = Tokenizer
    assert.strictEqual(count(""), 0)
    assert.isAtLeast(count("The quick brown fox jumps over the lazy dog"), 9)
    assert.isAtMost(count("The quick brown fox jumps over the lazy dog"), 11)
    assert.isAtLeast(count("<|endoftext|>"), 3)
  })
})
