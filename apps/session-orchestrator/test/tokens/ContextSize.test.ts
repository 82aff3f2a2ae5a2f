import { assert, describe, it } from "@effect/vitest"
import { Ids, type Message } from "@holdfast/wire"
import { Effect } from "effect"
import * as ContextSize from "../../src/tokens/ContextSize.ts"
import * as Tokenizer from "../../src/tokens/Tokenizer.ts"

const turnId = Ids.TurnId.make("t")

/** A count that can be told by looking. */
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
  ...(usage === undefined ? {} : { usage })
})

const sizeOf = (messages: ReadonlyArray<Message.Message>, system?: string): number =>
  ContextSize.of({ messages, tools: [], system }, words)

/** Of one message. */
const FRAME = 4

describe("the size of a context", () => {
  it("P8, A11: is counted where nobody has told it", () => {
    assert.strictEqual(sizeOf([user("one two three")]), FRAME + 3)
    assert.strictEqual(sizeOf([user("one two"), answer("three", 1)], "be brief"), 2 * FRAME + 5)
    const tool = { name: "look", inputSchema: {} }
    assert.isAbove(ContextSize.of({ messages: [user("one")], tools: [tool], system: undefined }, words), FRAME + 1)
  })

  it("A11: is what the provider said of its last answer, and a count of what came since", () => {
    const told = answer("three four", 1, { inputTokens: 1_000, outputTokens: 50 })
    assert.strictEqual(sizeOf([user("one two"), told, user("and five", 2)]), 1_050 + FRAME + 2)
  })

  it("P19: is counted again once a summary stands for what the provider had counted", () => {
    const told = answer("three", 1, { inputTokens: 90_000, outputTokens: 50 })
    const summary = user("it was long", 5, { synthetic: true, summary: { upTo: Ids.messageIdOf(turnId, 0) } })
    assert.strictEqual(sizeOf([summary, told]), 2 * FRAME + 4)
  })

  it.effect("a real text has about as many tokens as it has words, and marks of the encoding are text", () =>
    Effect.gen(function* () {
      const count = yield* Tokenizer.load
      assert.strictEqual(count(""), 0)
      assert.isAtLeast(count("The quick brown fox jumps over the lazy dog"), 9)
      assert.isAtMost(count("The quick brown fox jumps over the lazy dog"), 11)
      assert.isAtLeast(count("<|endoftext|>"), 3)
    })
  )
})
