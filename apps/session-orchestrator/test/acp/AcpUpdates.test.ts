/** Tests the session updates that events become, and prompts from content. */
import type { SessionUpdate } from "@agentclientprotocol/sdk"
import type { Message, TurnEvent } from "@holdfast/wire"
import * as ExampleTurn from "../../../../packages/wire/src/api/ExampleTurn.ts"
import { assert, describe, it } from "@effect/vitest"
import * as GivenTurn from "../GivenTurn.ts"
import * as AcpUpdates from "../../src/acp/AcpUpdates.ts"

const { ids } = GivenTurn
const world = { isOwn: () => false, at: () => "02:14:05" }

const play = (
  events: ReadonlyArray<TurnEvent.TurnEvent>,
  from: AcpUpdates.World = world
): ReadonlyArray<SessionUpdate> => {
  const sent: Array<SessionUpdate> = []
  let transcript = AcpUpdates.empty
  for (const event of events) {
    const [next, updates] = AcpUpdates.of(transcript, event, from)
    transcript = next
    sent.push(...updates)
  }
  return sent
}

const texts = (updates: ReadonlyArray<SessionUpdate>, kind: SessionUpdate["sessionUpdate"]) =>
  updates
    .map((update) =>
      update.sessionUpdate === kind &&
      "content" in update &&
      !Array.isArray(update.content) &&
      update.content?.type === "text"
        ? update.content.text
        : ""
    )
    .join("")

const wait = (attempt: number, more: Partial<TurnEvent.ProviderRetry> = {}) =>
  GivenTurn.retry({ attempt, delayMs: 5_000, retryAt: 5_000, target: "test/m", ...more })

const assistant = (...content: Message.AssistantMessage["content"]): TurnEvent.MessageEvent => {
  const { message, ...event } = GivenTurn.answer("")
  return { ...event, message: { ...message, content } as Message.AssistantMessage }
}
const text = (text: string) => ({ type: "text", text }) as const

const start: TurnEvent.StepStart = { ...ids, type: "step-start", step: 0, target: "test/m" }

describe("session updates", () => {
  it("a wait is one tool call, which each retry changes and retry-end completes", () => {
    const updates = play([
      start,
      wait(0),
      wait(1, { delayMs: 0 }),
      { ...ids, type: "retry-end", success: true, attempt: 1 },
      wait(0, { message: "529 Overloaded", delayMs: 1 }),
      { ...ids, type: "retry-end", success: false, attempt: 0, finalError: "Retry cancelled" }
    ])
    assert.deepStrictEqual(
      updates.map((update) =>
        "title" in update ? [update.sessionUpdate, update.title, Reflect.get(update, "status")] : []
      ),
      [
        ["tool_call", "Overloaded (529): retry 1 at 02:14:05", "in_progress"],
        ["tool_call_update", "Overloaded (529): retry 2 at once", undefined],
        ["tool_call_update", "Answered at retry 2", "completed"],
        ["tool_call", "529 Overloaded: retry 1 at 02:14:05", "in_progress"],
        ["tool_call_update", "Retry failed: Retry cancelled", "failed"]
      ]
    )
    const of = (n: number) => updates.flatMap((update) => ("toolCallId" in update ? [update.toolCallId] : []))[n]
    assert.strictEqual(of(0), of(2))
    assert.notStrictEqual(of(0), of(3))
  })

  it("text is sent once: as deltas, or from its message where the step was not watched", () => {
    const streamed = play([
      start,
      { ...ids, type: "text-delta", delta: "He" },
      { ...ids, type: "text-delta", delta: "llo" },
      assistant(text("Hello")),
      assistant({ type: "reasoning", text: "Hm" }, { type: "reasoning", text: "" }, text(" again"))
    ])
    assert.strictEqual(texts(streamed, "agent_message_chunk"), "Hello again")
    assert.strictEqual(texts(streamed, "agent_thought_chunk"), "Hm")
    assert.lengthOf(streamed, 4)
    const unwatched = play([start, assistant(text("Hello")), start, assistant(text("!"))])
    assert.strictEqual(texts(unwatched, "agent_message_chunk"), "Hello!")
  })

  it("a prompt is repeated only to a client that did not send it", () => {
    const events = ExampleTurn.messages.map((message): TurnEvent.TurnEvent => ({ ...ids, type: "message", message }))
    assert.isNotEmpty(texts(play(events), "user_message_chunk"))
    assert.isEmpty(texts(play(events, { ...world, isOwn: () => true }), "user_message_chunk"))
    const said = { ...GivenTurn.answer("").message, role: "user", content: [text("Hi")] } as Message.UserMessage
    const shown = [said, { ...said, synthetic: true as const }].map(
      (message) => play([{ ...ids, type: "message", message }]).length
    )
    assert.deepStrictEqual(shown, [1, 0])
  })

  it("void text is followed by a line with the reason", () => {
    const updates = play([
      start,
      { ...ids, type: "text-delta", delta: "Once" },
      { ...ids, type: "step-discarded", step: 0, message: "It is void." },
      start,
      { ...ids, type: "text-delta", delta: "Twice" }
    ])
    assert.strictEqual(texts(updates, "agent_message_chunk"), "Once\n\n*It is void.*\n\nTwice")
  })

  it("a tool's result is its text, or its output as JSON, and whether it failed", () => {
    const result = { ...ids, type: "tool-result", toolCallId: "1", toolName: "look" } as const
    const updates = play([
      { ...result, output: "seen", isError: false },
      { ...result, output: { a: 1 }, isError: true }
    ])
    assert.deepStrictEqual<unknown>(
      updates.map((update) => update.sessionUpdate === "tool_call_update" && [update.status, update.content]),
      [
        ["completed", [{ type: "content", content: text("seen") }]],
        ["failed", [{ type: "content", content: text('{\n  "a": 1\n}') }]]
      ]
    )
  })

  it("a question about tool calls is no wait", () => {
    const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "A person has to approve it." } as const
    assert.deepStrictEqual(play([wait(0, { asks })]), [])
  })
})

describe("prompts", () => {
  it("are text, files, and the addresses of what is linked", () => {
    assert.strictEqual(AcpUpdates.promptOf([text("Hi")]), "Hi")
    assert.isTrue(AcpUpdates.isCommand(" /retry\n", "retry"))
    assert.isFalse(AcpUpdates.isCommand("/retry it", "retry"))
    assert.deepStrictEqual(
      AcpUpdates.promptOf([
        { type: "text", text: "What is it?" },
        { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
        { type: "resource_link", name: "a.ts", uri: "file:///a.ts" },
        { type: "resource", resource: { uri: "file:///b.ts", text: "b" } }
      ]),
      [
        { type: "text", text: "What is it?" },
        { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
        { type: "text", text: "[a.ts](file:///a.ts)" },
        { type: "text", text: "file:///b.ts:\n\nb" }
      ]
    )
  })

  it("are refused where they are empty or have a file that is not valid", () => {
    const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" } as const
    assert.lengthOf(AcpUpdates.promptOf([text(""), image]) ?? [], 1)
    assert.isUndefined(AcpUpdates.promptOf([]))
    assert.isUndefined(AcpUpdates.promptOf([text("")]))
    assert.isUndefined(AcpUpdates.promptOf([{ type: "image", mimeType: "PNG", data: "?" }]))
  })
})

describe("a file of the model", () => {
  const file = (more: object) => ({ type: "file", mediaType: "image/png", ...more }) as Message.ModelFile
  const contentsOf = (updates: ReadonlyArray<SessionUpdate>) =>
    updates.flatMap((update) => (update.sessionUpdate === "agent_message_chunk" ? [update.content] : []))

  it("is an image, sound, a resource or a link", () => {
    const blocks = [
      file({ data: "AAAA" }),
      file({ mediaType: "audio/mpeg", data: "AAAA" }),
      file({ mediaType: "application/pdf", data: "AAAA", name: "a b.pdf" }),
      file({ url: "https://a.example/b.png", name: "b.png" })
    ].map((file) => contentsOf(play([{ type: "file", ...ids, file }]))[0])
    assert.deepStrictEqual<unknown>(blocks, [
      { type: "image", mimeType: "image/png", data: "AAAA" },
      { type: "audio", mimeType: "audio/mpeg", data: "AAAA" },
      { type: "resource", resource: { uri: "attachment:a%20b.pdf", mimeType: "application/pdf", blob: "AAAA" } },
      { type: "resource_link", name: "b.png", uri: "https://a.example/b.png", mimeType: "image/png" }
    ])
  })

  it("is sent once: live, or from its message", () => {
    const message = assistant(file({ data: "AAAA" }))
    assert.lengthOf(contentsOf(play([{ type: "file", ...ids, file: file({ data: "AAAA" }) }, message])), 1)
    assert.lengthOf(contentsOf(play([message])), 1)
  })
})
