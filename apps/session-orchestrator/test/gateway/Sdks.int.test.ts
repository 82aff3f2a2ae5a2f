/** Tests the providers' own SDKs through the gateway and a short outage: they know nothing of Holdfast but its address. */
import Anthropic from "@anthropic-ai/sdk"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import * as GatewayRig from "./GatewayRig.ts"
import type * as RawEndpoint from "./RawEndpoint.ts"

const FAILURES: ReadonlyArray<(call: RawEndpoint.Received) => void> = [
  (call) => GatewayRig.sendError(call, 503),
  ({ response }) => void response.socket?.destroy(),
  (call) =>
    GatewayRig.sendStream(
      call,
      Buffer.from('event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n')
    )
]

const json = ({ response }: RawEndpoint.Received, body: object): void => {
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

/** A service behind an outage of three calls. */
const start = (answer: (call: RawEndpoint.Received) => void) =>
  Effect.map(GatewayRig.start({ answer: (call, n) => (FAILURES[n - 1] ?? answer)(call) }), ({ endpoint, service }) => ({
    endpoint,
    url: `http://127.0.0.1:${service.port}/to`
  }))

/** One try: what an SDK would retry itself must not be needed. */
const TRIES = { maxRetries: 0, apiKey: "sk-of-the-client-0123" }

const event = (data: { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

describe("the SDK of OpenAI", () => {
  it.live("streams a chat completion", () =>
    Effect.gen(function* () {
      const { endpoint, url } = yield* start((call) => GatewayRig.sendStream(call, GatewayRig.chatStream("At last")))
      const client = new OpenAI({ ...TRIES, baseURL: `${url}/own` })
      const text = yield* Effect.promise(async () => {
        let text = ""
        const stream = await client.chat.completions.create({
          model: "m",
          stream: true,
          messages: [{ role: "user", content: "Hello" }]
        })
        for await (const { choices } of stream) text += choices[0]?.delta.content ?? ""
        return text
      })
      expect([text, endpoint.calls.length]).toEqual(["At last", 4])
    }).pipe(Effect.scoped)
  )

  it.live("gets a response as one document", () =>
    Effect.gen(function* () {
      const output = [
        {
          type: "message",
          id: "m1",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "At last", annotations: [] }]
        }
      ]
      const { endpoint, url } = yield* start((call) =>
        json(call, { id: "r1", object: "response", status: "completed", model: "m", output })
      )
      const client = new OpenAI({ ...TRIES, baseURL: `${url}/own` })
      const response = yield* Effect.promise(() => client.responses.create({ model: "m", input: "Hello" }))
      expect([response.output_text, endpoint.calls.length]).toEqual(["At last", 4])
    }).pipe(Effect.scoped)
  )

  it.live("shows why a call is refused", () =>
    Effect.gen(function* () {
      const { url } = yield* start((call) => GatewayRig.sendError(call, 400))
      const client = new OpenAI({ ...TRIES, baseURL: `${url}/nowhere` })
      const error = yield* Effect.flip(Effect.tryPromise({ try: () => client.models.list(), catch: String }))
      expect(error).toMatch(/404.*There is no provider "nowhere"/su)
    }).pipe(Effect.scoped)
  )
})

describe("the SDK of Anthropic", () => {
  const message = {
    id: "m1",
    type: "message",
    role: "assistant",
    model: "m",
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 }
  }

  it.live("streams a message", () =>
    Effect.gen(function* () {
      const frames = [
        { type: "message_start", message: { ...message, content: [] } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "ping" },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "At last" } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } },
        { type: "message_stop" }
      ]
      const { endpoint, url } = yield* start((call) =>
        GatewayRig.sendStream(call, Buffer.from(frames.map(event).join("")))
      )
      const client = new Anthropic({ ...TRIES, baseURL: `${url}/claude` })
      const text = yield* Effect.promise(() =>
        client.messages
          .stream({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] })
          .finalText()
      )
      expect([text, endpoint.calls.length]).toEqual(["At last", 4])
    }).pipe(Effect.scoped)
  )

  it.live("gets a message as one document", () =>
    Effect.gen(function* () {
      const whole = { ...message, stop_reason: "end_turn", content: [{ type: "text", text: "At last" }] }
      const { endpoint, url } = yield* start((call) => json(call, whole))
      const client = new Anthropic({ ...TRIES, baseURL: `${url}/claude` })
      const answer = yield* Effect.promise(() =>
        client.messages.create({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] })
      )
      expect([answer.content, endpoint.calls.length]).toEqual([whole.content, 4])
    }).pipe(Effect.scoped)
  )
})
