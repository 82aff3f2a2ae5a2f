/** Tests the session updates that events become, and prompts from content. */
import type { SessionUpdate } from "@agentclientprotocol/sdk"
import type { Message, TurnEvent } from "@holdfast/wire"
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

const wait = (attempt: number, more: Partial<TurnEvent.ProviderRetry> = {}) =>
  GivenTurn.retry({ attempt, delayMs: 5_000, retryAt: 5_000, target: "test/m", ...more })

const assistant = (...content: Message.AssistantMessage["content"]): TurnEvent.MessageEvent => {
  const { message, ...event } = GivenTurn.answer("")
  return { ...event, message: { ...message, content } as Message.AssistantMessage }
}
const text = (text: string) => ({ type: "text", text }) as const
const said = (content: string, by: "agent_message" | "agent_thought" | "user_message" = "agent_message") =>
  ({ sessionUpdate: `${by}_chunk`, content: text(content) }) as const

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
    const call = (status: string | undefined, n: number, title: string, message?: string) => ({
      sessionUpdate: status === "in_progress" ? "tool_call" : "tool_call_update",
      toolCallId: `t/wait-${n}`,
      title,
      ...(status === "in_progress" && { kind: "other" }),
      ...(status && { status }),
      ...(message && { content: [{ type: "content", content: text(`test/m: ${message}`) }] })
    })
    assert.deepStrictEqual<unknown>(updates, [
      call("in_progress", 0, "Overloaded (529): retry 1 at 02:14:05", "Overloaded"),
      call(undefined, 0, "Overloaded (529): retry 2 at once", "Overloaded"),
      call("completed", 0, "Answered at retry 2"),
      call("in_progress", 1, "529 Overloaded: retry 1 at 02:14:05", "529 Overloaded"),
      call("failed", 1, "Retry failed: Retry cancelled")
    ])
  })

  it("text is sent once: as deltas, or from its message where the step was not watched", () => {
    const streamed = play([
      start,
      { ...ids, type: "text-delta", delta: "He" },
      { ...ids, type: "text-delta", delta: "llo" },
      assistant(text("Hello")),
      assistant({ type: "reasoning", text: "Hm" }, { type: "reasoning", text: "" }, text(" again"))
    ])
    assert.deepStrictEqual<unknown>(streamed, [said("He"), said("llo"), said("Hm", "agent_thought"), said(" again")])
    const unwatched = play([start, assistant(text("Hello")), start, assistant(text("!"))])
    assert.deepStrictEqual<unknown>(unwatched, [said("Hello"), said("!")])
  })

  it("a prompt is repeated only to a client that did not send it", () => {
    const { message } = GivenTurn.answer("")
    const shown = (content: string, synthetic?: true, isOwn = false) => {
      const asked = { ...message, role: "user", content: [text(content)], synthetic } as Message.UserMessage
      return play([{ ...ids, type: "message", message: asked }], { ...world, isOwn: () => isOwn })
    }
    assert.deepStrictEqual<unknown>(shown("Hi"), [said("Hi", "user_message")])
    assert.deepStrictEqual([...shown("Hi", undefined, true), ...shown("Hi", true)], [])
  })

  it("void text is followed by a line with the reason", () => {
    const updates = play([
      start,
      { ...ids, type: "text-delta", delta: "Once" },
      { ...ids, type: "step-discarded", step: 0, message: "It is void." },
      start,
      { ...ids, type: "text-delta", delta: "Twice" }
    ])
    assert.deepStrictEqual<unknown>(updates, [said("Once"), said("\n\n*It is void.*\n\n"), said("Twice")])
  })

  it("a tool's result is its text, or its output as JSON, and whether it failed", () => {
    const result = { ...ids, type: "tool-result", toolCallId: "1", toolName: "look" } as const
    for (const [output, isError, status, shown] of [
      ["seen", false, "completed", "seen"],
      [{ a: 1 }, true, "failed", '{\n  "a": 1\n}']
    ] as const) {
      const update = { sessionUpdate: "tool_call_update", toolCallId: "t/1", status, rawOutput: output } as const
      const content = [{ type: "content", content: text(shown) }]
      assert.deepStrictEqual<unknown>(play([{ ...result, output, isError }]), [{ ...update, content }])
    }
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
