/** Turns as UI message streams, read by the AI SDK itself. */
import { describe, it } from "@effect/vitest"
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai"
import * as fc from "fast-check"
import { holdfast, type Message, type ModelEvent, type TurnEvent } from "holdfast"
import { assert, expect } from "vitest"
import {
  type UiMessageData,
  type UiMessageMetadata,
  type UiMessagePart,
  uiMessageResponse,
  uiMessageStream
} from "../src/index.ts"

type ChatMessage = UIMessage<UiMessageMetadata, UiMessageData>

/** Every part fits the AI SDK's own type: this compiles. */
const chunksOf = (events: AsyncIterable<TurnEvent>): ReadableStream<UIMessageChunk<UiMessageMetadata, UiMessageData>> =>
  uiMessageStream(events)

async function* given(events: ReadonlyArray<TurnEvent>): AsyncGenerator<TurnEvent, void, undefined> {
  yield* events
}

/** What the AI SDK's reader makes of them, with the errors that it reports. */
const read = async (
  events: ReadonlyArray<TurnEvent>
): Promise<{ readonly message: ChatMessage | undefined; readonly errors: ReadonlyArray<string> }> => {
  const errors: Array<string> = []
  let message: ChatMessage | undefined
  const onError = (error: unknown) => void errors.push(String(error))
  const stream = chunksOf(given(events)) as ReadableStream<UIMessageChunk>
  for await (const state of readUIMessageStream<ChatMessage>({ stream, onError })) message = state
  return { message, errors }
}

const all = async <A>(elements: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const list: Array<A> = []
  for await (const element of elements) list.push(element)
  return list
}

const partsOf = async (events: ReadonlyArray<TurnEvent>): Promise<ReadonlyArray<UiMessagePart>> =>
  all(uiMessageStream(given(events)))

const ids = { conversationId: "c1", turnId: "t1" }

const textOf = (message: Extract<Message, { readonly role: "assistant" }>, type: "text" | "reasoning"): string =>
  message.content.flatMap((part) => (part.type === type ? [part.text] : [])).join("")

const shownOf = (message: ChatMessage | undefined, type: "text" | "reasoning"): string =>
  (message?.parts ?? []).flatMap((part) => (part.type === type ? [part.text] : [])).join("")

type Content = Extract<Message, { readonly role: "assistant" }>["content"]

const messageOf = (content: Content, more: object = {}): TurnEvent => ({
  type: "message",
  ...ids,
  message: {
    id: "m1",
    role: "assistant",
    turnId: "t1",
    createdAt: 0,
    target: { provider: "p", model: "m" },
    content,
    ...more
  }
})

const END: TurnEvent = {
  type: "turn-end",
  ...ids,
  status: "completed",
  endedAt: 5,
  steps: 1,
  attempts: 2,
  sleptMs: 3,
  waitedMs: 4,
  usage: { inputTokens: 1, outputTokens: 2 }
}

const deltas = (blocks: ReadonlyArray<readonly [type: "text" | "reasoning", text: string]>): ReadonlyArray<TurnEvent> =>
  blocks.map(([type, delta]) => ({ type: `${type}-delta`, ...ids, delta }) as const)

/** Deltas of any kind and order. */
const anyBlocks = fc.array(
  fc.tuple(fc.constantFrom("text" as const, "reasoning" as const), fc.string({ minLength: 1, maxLength: 4 })),
  {
    maxLength: 5
  }
)

/** A step: attempts that are voided, then one whose deltas came whole, in part, not at all, or otherwise than its message. */
const anyStep = fc
  .record({
    voids: fc.array(fc.tuple(anyBlocks, fc.boolean()), { maxLength: 2 }),
    blocks: anyBlocks,
    missed: fc.nat(3),
    other: fc.option(anyBlocks, { freq: 4, nil: undefined }),
    hasTool: fc.boolean(),
    isRejected: fc.boolean()
  })
  .map(({ blocks, hasTool, isRejected, missed, other, voids }) => (step: number): ReadonlyArray<TurnEvent> => {
    const start: TurnEvent = { type: "step-start", ...ids, step, target: "p/m" }
    const call = { toolCallId: `call-${step}`, toolName: "weather", input: { city: "Bergen" } }
    const content: Content = [
      ...blocks.map(([type, text]) => ({ type, text })),
      ...(hasTool ? [{ type: "tool-call" as const, ...call }] : [])
    ]
    return [
      ...voids.flatMap(([shown, isRejoined]): ReadonlyArray<TurnEvent> => [
        start,
        ...deltas(shown),
        ...(isRejoined ? [] : [{ type: "step-discarded" as const, ...ids, step, message: "void" }])
      ]),
      start,
      ...deltas(other ?? blocks.slice(0, blocks.length - Math.min(missed, blocks.length))),
      ...(hasTool ? [{ type: "tool-call" as const, ...ids, ...call }] : []),
      messageOf(
        content,
        isRejected ? { error: { reason: "invalid-response", message: "no report", retryable: true } } : {}
      ),
      ...(hasTool
        ? [
            {
              type: "tool-result" as const,
              ...ids,
              toolCallId: call.toolCallId,
              toolName: "weather",
              output: step,
              isError: step % 2 === 1
            }
          ]
        : [])
    ]
  })

describe("uiMessageStream", () => {
  it("the AI SDK reads the text that is persisted, whatever was voided or missed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 4 }), async (steps) => {
        const events = [...steps.flatMap((step, at) => step(at)), END]
        const { errors, message } = await read(events)
        const persisted = events.flatMap((event) =>
          event.type === "message" && event.message.role === "assistant" ? [event.message] : []
        )
        assert.deepStrictEqual(errors, [])
        for (const type of ["text", "reasoning"] as const)
          assert.strictEqual(shownOf(message, type), persisted.map((message) => textOf(message, type)).join(""))
        const calls = persisted.flatMap(({ content }) => content.filter(({ type }) => type === "tool-call"))
        const tools = (message?.parts ?? []).filter((part) => part.type === "dynamic-tool")
        assert.deepStrictEqual<unknown>(
          tools.map(({ input, state, toolCallId }) => ({ toolCallId, input, state })),
          calls.map((call) => ({
            toolCallId: call.type === "tool-call" ? call.toolCallId : "",
            input: { city: "Bergen" },
            state:
              call.type === "tool-call" && Number(call.toolCallId.slice(5)) % 2 === 1
                ? "output-error"
                : "output-available"
          }))
        )
        assert.deepInclude(message?.metadata, {
          status: "completed",
          usage: { inputTokens: 1, outputTokens: 2 },
          waitedMs: 4
        })
        for (const part of message?.parts ?? [])
          if (part.type === "text" || part.type === "reasoning") assert.strictEqual(part.state, "done")
      }),
      { numRuns: 60 }
    )
  })

  it("what was voided leaves the screen before anything follows", async () => {
    const start: TurnEvent = { type: "step-start", ...ids, step: 0, target: "p/m" }
    const events = [
      start,
      ...deltas([["text", "Half "]]),
      { type: "step-discarded", ...ids, step: 0, message: "void" } as const,
      start,
      ...deltas([["text", "Whole"]]),
      messageOf([{ type: "text", text: "Whole" }]),
      END
    ]
    const types = (await partsOf(events)).map(({ type }) => type)
    assert.deepStrictEqual(types, [
      "start",
      "start-step",
      "text-start",
      "text-delta",
      "reset-step",
      "data-step-discarded",
      "text-start",
      "text-delta",
      "text-end",
      "finish-step",
      "message-metadata",
      "finish"
    ])
  })

  it("a wait is transient: it reaches onData, and no message", async () => {
    const retry: TurnEvent = {
      type: "provider-retry",
      ...ids,
      attempt: 0,
      delayMs: 5,
      retryAt: 7,
      message: "Overloaded",
      code: "529",
      reason: "overloaded",
      target: "p/m"
    }
    const events = [retry, messageOf([{ type: "text", text: "Here." }]), END]
    const [, part] = await partsOf(events)
    const { conversationId: _, turnId: __, type: ___, ...data } = retry
    assert.deepStrictEqual<unknown>(part, { type: "data-provider-retry", data, transient: true })
    const { message } = await read(events)
    assert.deepStrictEqual(
      message?.parts.map(({ type }) => type),
      ["step-start", "text"]
    )
  })

  it("a turn that fails ends with its error, one that is aborted with abort; events of other turns are left out", async () => {
    const error = { reason: "auth", message: "No key", retryable: false } as const
    const failed = await read([{ ...END, status: "failed", error }])
    assert.deepStrictEqual(failed.errors, ["Error: No key"])
    expect(failed.message?.metadata).toMatchObject({ status: "failed", error })
    const aborted = await partsOf([
      { ...END, status: "aborted" },
      { ...END, turnId: "t2" }
    ])
    assert.deepStrictEqual(
      aborted.map(({ type }) => type),
      ["start", "message-metadata", "abort"]
    )
  })
})

describe("uiMessageResponse", () => {
  /** A turn of the library that is overloaded once, asks for a tool, and answers. */
  const turn = () => {
    let calls = 0
    const hf = holdfast({
      retry: { schedule: { type: "steps", delays: ["1 millis"], tail: "1 millis" } },
      tools: { weather: { execute: () => "rain" } },
      model: async function* (): AsyncGenerator<ModelEvent> {
        calls++
        if (calls === 1) throw Object.assign(new Error("Overloaded"), { status: 529 })
        if (calls === 2) {
          yield { type: "reasoning-delta", delta: "Look. " }
          yield { type: "tool-call", toolCallId: "call-1", toolName: "weather", input: { city: "Bergen" } }
          yield { type: "finish", finishReason: "tool-calls" }
        } else {
          yield { type: "text-delta", delta: "It " }
          yield { type: "text-delta", delta: "rains." }
          yield { type: "finish", finishReason: "stop" }
        }
      }
    })
    return hf.turn("How is the weather?", { id: "t1" })
  }

  it("is what the transport of useChat reads, wait, tool and all", async () => {
    const transport = new DefaultChatTransport<ChatMessage>({ fetch: async () => uiMessageResponse(turn()) })
    const stream = await transport.sendMessages({
      trigger: "submit-message",
      chatId: "c1",
      messageId: undefined,
      messages: [],
      abortSignal: undefined
    })
    const [chunks, copy] = stream.tee()
    let message: ChatMessage | undefined
    for await (const state of readUIMessageStream<ChatMessage>({ stream: copy })) message = state
    const types = (await all(chunks)).map(({ type }) => type)
    for (const type of ["data-provider-retry", "data-retry-end"]) assert.include(types, type)
    assert.strictEqual(message?.id, "t1")
    expect(message?.parts).toMatchObject([
      { type: "step-start" },
      { type: "reasoning", text: "Look. " },
      {
        type: "dynamic-tool",
        toolName: "weather",
        input: { city: "Bergen" },
        output: "rain",
        state: "output-available"
      },
      { type: "step-start" },
      { type: "text", text: "It rains." }
    ])
    expect(message?.metadata).toMatchObject({ status: "completed", attempts: 3, steps: 2 })
  })

  it("keeps its connection in a long wait, and a reader that leaves ends no turn", async () => {
    let isReturned = false
    const waiting: AsyncIterable<TurnEvent> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: async () => ((isReturned = true), { done: true, value: undefined })
      })
    }
    const response = uiMessageResponse(waiting, { keepAliveMs: 1, headers: { "x-turn": "t1" }, status: 201 })
    assert.strictEqual(response.headers.get("x-vercel-ai-ui-message-stream"), "v1")
    assert.strictEqual(response.headers.get("x-turn"), "t1")
    assert.strictEqual(response.status, 201)
    const reader = response.body?.getReader()
    const { value } = (await reader?.read()) ?? {}
    assert.strictEqual(new TextDecoder().decode(value), ": keep-alive\n\n")
    await reader?.cancel()
    assert.isTrue(isReturned)
  })
})

describe("a file of the model", () => {
  const file = { type: "file", mediaType: "image/png", data: "AAAA" } as const
  const url = "data:image/png;base64,AAAA"
  const begun: TurnEvent = { type: "step-start", ...ids, step: 0, target: "a/b" }
  const shown: TurnEvent = { type: "file", ...ids, file }
  const filesOf = (message: ChatMessage | undefined) => (message?.parts ?? []).filter(({ type }) => type === "file")

  it("is a part of the message in the AI SDK's own form, once, live or from its message", async () => {
    const whole = messageOf([{ type: "text", text: "Here" }, file])
    for (const events of [
      [begun, { type: "text-delta", ...ids, delta: "Here" } as const, shown, whole],
      [begun, whole]
    ]) {
      const { errors, message } = await read(events)
      assert.deepStrictEqual<unknown>(errors, [])
      expect(filesOf(message)).toEqual([expect.objectContaining({ mediaType: "image/png", url })])
    }
  })

  it("is taken back where its message has another file that begins alike", async () => {
    const { errors, message } = await read([begun, shown, messageOf([{ ...file, data: "AAAABBBB" }])])
    assert.deepStrictEqual<unknown>(errors, [])
    expect(filesOf(message)).toEqual([expect.objectContaining({ url: `${url}BBBB` })])
  })

  it("that was shown is taken back where its step is void", async () => {
    const voided: TurnEvent = { type: "step-discarded", ...ids, step: 0, message: "It broke off." }
    const types = (await partsOf([begun, shown, voided])).map(({ type }) => type)
    assert.include(types, "reset-step")
  })
})
