import { HoldfastClient } from "@holdfast/client"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { describe, expect, it } from "vitest"
import type { KeyPress } from "../src/editor/Key.ts"
import * as OpenConversation from "../src/OpenConversation.ts"
import type * as Snapshot from "../src/Snapshot.ts"

const ids = { conversationId: Ids.ConversationId.make("c1"), turnId: Ids.TurnId.make("t1") }
const NOW = Date.now()

/** A service without a socket: it answers calls at once, prompts and retries once it may, and its events are pushed by the test. */
const fakeService = (
  refuse: (path: string) => object | undefined = () => undefined,
  accepted: Promise<void> = Promise.resolve()
) => {
  const calls: Array<readonly [path: string, body: unknown]> = []
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined
  const fetch = async (input: string, init: RequestInit = {}): Promise<Response> => {
    const path = new URL(input).pathname
    if (path.endsWith("/events")) {
      const body = new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) })
      return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }))
    }
    if (init.method !== "GET") calls.push([path, init.body === undefined ? undefined : JSON.parse(String(init.body))])
    const problem = refuse(path)
    if (problem !== undefined) {
      return Promise.resolve(
        new Response(JSON.stringify(problem), { status: 409, headers: { "content-type": "application/problem+json" } })
      )
    }
    if (/\/(turns|retry)$/.test(path)) await accepted
    const body = path === "/v1/conversations" ? { conversationId: "c1" } : { turnId: "t1", status: "idle", steps: [] }
    return Promise.resolve(
      new Response(JSON.stringify(body), {
        status: init.method === "GET" ? 200 : 202,
        headers: { "content-type": "application/json" }
      })
    )
  }
  let id = 0
  const emit = (event: TurnEvent.TurnEvent, isPersisted: boolean): void =>
    stream?.enqueue(new TextEncoder().encode(`${isPersisted ? `id: ${++id}\n` : ""}data: ${JSON.stringify(event)}\n\n`))
  return { calls, emit, fetch, isWatched: () => stream !== undefined }
}

const open = (service: ReturnType<typeof fakeService>, options: Partial<OpenConversation.Options> = {}) => {
  const conversation = OpenConversation.make({
    client: new HoldfastClient({ url: "http://service.test", fetch: service.fetch as typeof fetch }),
    now: () => NOW,
    reportLines: () => [],
    explanationLines: () => [],
    ...options
  })
  const until = (condition: (snapshot: Snapshot.Snapshot) => boolean): Promise<Snapshot.Snapshot> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!condition(conversation.snapshot())) return
        unsubscribe()
        resolve(conversation.snapshot())
      }
      const unsubscribe = conversation.subscribe(check)
      check()
    })
  const press = (...keys: ReadonlyArray<KeyPress | string>): void => {
    for (const key of keys) conversation.press(typeof key === "string" ? { type: "text", text: key } : key, 80)
  }
  return { conversation, press, until }
}

const ENTER = { type: "enter" } as const
const ESC = { type: "escape" } as const
const textsOf = ({ entries }: Snapshot.Snapshot): ReadonlyArray<string> => entries.map(({ text }) => text)

describe("OpenConversation", () => {
  it("a new conversation is opened with its first prompt, and not before", async () => {
    const service = fakeService()
    const { conversation, press, until } = open(service, { model: "test/m" })
    expect(service.calls).toEqual([])
    press("Hello", ENTER)
    await until(() => service.calls.length === 2)
    expect(service.calls).toEqual([
      ["/v1/conversations", { model: "test/m" }],
      ["/v1/conversations/c1/turns", expect.objectContaining({ prompt: "Hello" })]
    ])
    expect(conversation.snapshot().sent).toEqual(["Hello"])
    conversation.close()
  })

  it("a prompt that the service refuses goes back into the editor, with the service's words", async () => {
    const service = fakeService((path) =>
      path.endsWith("/turns")
        ? { type: "/docs/problems#x", title: "No", status: 409, detail: "This is not possible." }
        : undefined
    )
    const { conversation, press, until } = open(service)
    press("Hello", ENTER)
    const snapshot = await until(({ keyboard }) => keyboard.editor.text === "Hello")
    expect(textsOf(snapshot)).toContain("This is not possible.")
    expect(snapshot.sent).toEqual([])
    conversation.close()
  })

  it("OpenConversation.O3: Esc behind a prompt or a retry aborts the turn that it becomes", async () => {
    const { promise: accepted, resolve: accept } = Promise.withResolvers<void>()
    const service = fakeService(undefined, accepted)
    const { conversation, press } = open(service, { conversationId: "c1" })
    const calls = () => service.calls.map(([path]) => path.split("/").at(-1))
    const turnOfLoop = (): Promise<void> => new Promise(setImmediate)
    press("Hello", ENTER)
    while (calls().length < 1) await turnOfLoop()
    press(ESC)
    conversation.act({ type: "retry" })
    press(ESC)
    while (calls().length < 2) await turnOfLoop()
    await turnOfLoop()
    expect(calls()).toEqual(["turns", "retry"])
    accept()
    while (calls().length < 4) await turnOfLoop()
    expect(calls().slice(2)).toEqual(["abort", "abort"])
    conversation.close()
  })

  it("Esc during a wait cancels the retry; a question about tools is answered call by call", async () => {
    const service = fakeService()
    const { conversation, press, until } = open(service, { conversationId: "c1" })
    await until(() => service.isWatched())
    const wait: TurnEvent.ProviderRetry = {
      ...ids,
      type: "provider-retry",
      attempt: 0,
      delayMs: 60_000,
      retryAt: NOW + 60_000,
      message: "Overloaded",
      reason: "overloaded",
      target: "test/m"
    }
    service.emit(wait, false)
    await until(({ view }) => view.retry !== undefined)
    press(ESC)
    await until(() => service.calls.some(([path]) => path.endsWith("/abort-retry")))

    const calls = ["a", "b"].map((toolCallId) => ({ toolCallId, toolName: "write", quoted: "{}" }))
    const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "May they run?", calls } as const
    service.emit({ ...wait, asks }, false)
    await until(({ view }) => view.retry?.asks !== undefined)
    press("/approve", ENTER)
    await until((snapshot) => textsOf(snapshot).includes("Approved: write"))
    press("/refuse not now", ENTER)
    await until((snapshot) => textsOf(snapshot).includes("Refused: write"))
    press("/approve always", ENTER)
    const snapshot = await until((snapshot) => textsOf(snapshot).includes("Approved always: write"))
    const answers = service.calls.filter(([path]) => path.endsWith("/answer-tool")).map(([, body]) => body)
    expect(answers).toEqual([
      expect.objectContaining({ toolCallId: "a", approve: true }),
      expect.objectContaining({ toolCallId: "a", approve: false, reason: "not now" }),
      expect.objectContaining({ toolCallId: "a", approve: true, always: true })
    ])
    expect(textsOf(snapshot)).toContain("⚠ May they run?")
    press("/forget", ENTER)
    await until(() => service.calls.some(([path]) => path.endsWith("/tool-answers")))
    expect(service.calls.at(-1)).toEqual(["/v1/conversations/c1/tool-answers", { toolAnswers: {} }])
    conversation.close()
  })

  it("/switch changes the model of an idle conversation, and leaves the conversation where it is", async () => {
    const service = fakeService()
    const { conversation, press, until } = open(service, { conversationId: "c1" })
    await until(() => service.isWatched())
    service.emit({ ...ids, type: "step-start", step: 0, target: "test/m" }, false)
    await until(({ model }) => model === "test/m")
    press("/switch test/other", ENTER)
    const snapshot = await until((snapshot) =>
      textsOf(snapshot).includes("test/other answers from the next prompt on.")
    )
    expect(snapshot.model).toBe("test/other")
    expect(service.calls).toEqual([["/v1/conversations/c1/model", { model: "test/other" }]])
    expect(snapshot.conversationId).toBe("c1")
    conversation.close()
  })

  it("commands without a wait explain that there is none, and send nothing", async () => {
    const service = fakeService()
    const { conversation, press } = open(service)
    press("/now", ENTER)
    expect(conversation.snapshot().notice).toBe("No turn waits.")
    press("/approve", ENTER)
    expect(conversation.snapshot().notice).toBe("No tool call waits for you.")
    expect(service.calls).toEqual([])
    conversation.close()
  })
})
