import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import * as fc from "fast-check"
import * as RpcLines from "../../src/rpc/RpcLines.ts"
import * as SocketMessages from "../../src/rpc/SocketMessages.ts"
import { TurnEvent } from "../../src/TurnEvent.ts"

/** The response to a message that is refused. */
const refusal = (text: string) => {
  const decoded = SocketMessages.decode(text)
  if (Result.isSuccess(decoded)) throw new Error(`${text} was taken`)
  return decoded.failure
}

it.prop("every command decodes to itself", { command: SocketMessages.SocketCommand }, ({ command: given }) => {
  const command = given.type === "wait_until" ? { ...given, until: Math.abs(given.until) % 1e12 } : given
  const json = JSON.stringify(command)
  expect(Result.getOrThrow(SocketMessages.decode(json))).toEqual(JSON.parse(json))
})

it("no text makes the decoder throw, and what it refuses has a response of the schema", () => {
  const json = fc.json()
  const text = fc.oneof(
    fc.string(),
    json.map((json) => `{"id":${json},"type":"subscribe","conversationId":${json}}`)
  )
  fc.assert(
    fc.property(text, (text) => {
      const decoded = SocketMessages.decode(text)
      if (Result.isSuccess(decoded)) return
      expect(Schema.is(SocketMessages.SocketResponse)(decoded.failure)).toBe(true)
      expect(decoded.failure.error.length).toBeLessThan(1_000)
    })
  )
})

describe("a message is refused", () => {
  it("without its conversation, with its id", () => {
    const response = refusal('{"id":7,"type":"abort"}')
    expect(response).toMatchObject({ id: 7, command: "abort", success: false, code: "invalid-request" })
    expect(response.error).toContain('"conversationId": ')
  })

  it("with a key that is unknown, or a position that is none", () => {
    expect(refusal('{"type":"subscribe","conversationId":"c","aftr":1}').error).toContain('"aftr": unknown key')
    expect(refusal('{"type":"subscribe","conversationId":"c","after":-1}').error).toBe(
      '"after": expected the id of an event, or 0'
    )
  })
})

it("every command of holdfast rpc is a command of a socket, for a conversation", () => {
  expect(Object.keys(SocketMessages.commands)).toEqual(expect.arrayContaining(Object.keys(RpcLines.commands)))
  for (const type of Object.keys(RpcLines.commands)) {
    const { fields } = SocketMessages.commands[type as keyof typeof RpcLines.commands]
    expect(Object.keys(fields)).toContain("conversationId")
  }
})

it("no event has the type of another message", () => {
  for (const type of ["response", "keep-alive", "unsubscribed", "reconnect"])
    expect(TurnEvent.members.map(({ fields }) => fields.type.schema.literal)).not.toContain(type)
})

it.prop("an event's message is the event, with its id where it has one", { event: TurnEvent }, ({ event }) => {
  const json = JSON.stringify(event)
  expect(SocketMessages.eventMessage(json, undefined)).toBe(json)
  expect(JSON.parse(SocketMessages.eventMessage(json, 41))).toEqual({ eventId: 41, ...JSON.parse(json) })
})

it("a token becomes a subprotocol of letters, digits, - and _", () => {
  const protocol = SocketMessages.tokenProtocol('a/b+c="d" ~')
  expect(protocol).toMatch(/^holdfast\.bearer\.[A-Za-z0-9_-]+$/)
  const token = Base64Url.decode(protocol.slice(SocketMessages.TOKEN_PREFIX.length))
  expect(new TextDecoder().decode(Result.getOrThrow(token))).toBe('a/b+c="d" ~')
})
