import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as fc from "fast-check"
import * as RpcLines from "../../src/rpc/RpcLines.ts"
import { TurnEvent } from "../../src/TurnEvent.ts"

/** The response to a line that is refused. */
const refusal = (line: string): RpcLines.RpcResponse => {
  const decoded = RpcLines.decode(line)
  if (Result.isSuccess(decoded)) throw new Error(`${line} was taken`)
  return decoded.failure
}

const taken = (line: object): RpcLines.RpcCommand => Result.getOrThrow(RpcLines.decode(JSON.stringify(line)))

it.prop("rule P16: every command decodes to itself", { command: RpcLines.RpcCommand }, ({ command: given }) => {
  const command = given.type === "wait_until" ? { ...given, until: Math.abs(given.until) % 1e12 } : given
  expect(taken(JSON.parse(JSON.stringify(command)))).toEqual(JSON.parse(JSON.stringify(command)))
})

it("rule P16: no text makes the decoder throw, and what it refuses has a response of the schema", () => {
  const json = fc.json()
  const line = fc.oneof(
    fc.string(),
    json,
    json.map((json) => `{"id":${json},"type":"prompt","prompt":${json}}`)
  )
  fc.assert(
    fc.property(line, (line) => {
      const decoded = RpcLines.decode(line)
      if (Result.isSuccess(decoded)) return
      expect(Schema.is(RpcLines.RpcResponse)(decoded.failure)).toBe(true)
      expect(decoded.failure.error?.length).toBeLessThan(1_000)
    })
  )
})

describe("rule P16: a line is refused", () => {
  it.each([
    ["nonsense", `The line "nonsense" is no JSON object. Expected one such as {"id":"1","type":"get_state"}.`],
    ["[1]", `The line "[1]" is no JSON object. Expected one such as {"id":"1","type":"get_state"}.`],
    ["null", `The line "null" is no JSON object. Expected one such as {"id":"1","type":"get_state"}.`]
  ])("without an id, where it is %s", (line, error) => {
    expect(refusal(line)).toEqual({ type: "response", success: false, code: "invalid-request", error })
  })

  it("with its id, where its type is missing or unknown", () => {
    const expected = `Expected one of ${Object.keys(RpcLines.commands).join(", ")}.`
    expect(refusal('{"id":"a"}')).toEqual({
      id: "a",
      type: "response",
      success: false,
      code: "invalid-request",
      error: `"type" is missing. ${expected}`
    })
    expect(refusal('{"id":7,"type":"toString"}')).toEqual({
      id: 7,
      type: "response",
      command: "toString",
      success: false,
      code: "invalid-request",
      error: `"type" is "toString". ${expected}`
    })
  })

  it("with its id and its command, where a key is missing, wrong or unknown", () => {
    const response = refusal('{"id":"a","type":"set_auto_retry","enabled":"yes","enable":true}')
    expect(response).toMatchObject({ id: "a", command: "set_auto_retry", success: false })
    expect(response.error).toContain('"enabled": ')
    expect(response.error).toContain('"enable": unknown key')
    expect(refusal('{"type":"prompt"}').error).toContain('"prompt": ')
  })

  it("where its id is none", () => {
    const { error, id } = refusal('{"id":{},"type":"get_state"}')
    expect(id).toBeUndefined()
    expect(error).toContain("expected a number, or a text of 64 characters at most")
  })

  it("where it is nested too deeply, before it is parsed", () => {
    expect(refusal("[".repeat(500_000)).success).toBe(false)
  })
})

it("rule P16: a time is taken as a date or in milliseconds", () => {
  const until = Date.UTC(2031, 3, 1)
  expect(taken({ type: "wait_until", until: "2031-04-01T00:00:00Z" })).toEqual({ type: "wait_until", until })
  expect(taken({ type: "wait_until", until })).toEqual({ type: "wait_until", until })
})

it("rule P16: no event has the type of a response", () => {
  expect(TurnEvent.members.map(({ fields }) => fields.type.schema.literal)).not.toContain("response")
})

it("a line of too many values or levels is refused with the limit, before it is decoded", () => {
  const refusalOf = (text: string) =>
    Result.match(RpcLines.decode(text), { onFailure: ({ error }) => error, onSuccess: () => "" })
  const values = `{"type":"prompt","prompt":[${"{},".repeat(10_000)}{}]}`
  expect(refusalOf(values)).toMatch(/has more than 10000 values, in "prompt"\.$/u)
  expect(refusalOf("[".repeat(300_000))).toMatch(/has more than 200 levels\.$/u)
})
