import type { TurnEvent } from "@holdfast/wire"
import { assert, describe, it } from "vitest"
import { type LineChannel, type OpenChannel, RpcClient, RpcError } from "../../src/stdio/index.ts"

type Listener = Parameters<OpenChannel>[1]

/** A client whose process is the test. */
const start = (options: { readonly after?: number; readonly onLog?: (text: string) => void } = {}) => {
  const sent: Array<Record<string, unknown>> = []
  const given: { listener?: Listener; isEnded?: boolean; isKilled?: boolean } = {}
  const channel: LineChannel = {
    write: (text) => void sent.push(JSON.parse(text)),
    end: () => {
      given.isEnded = true
      given.listener?.closed({ message: "holdfast rpc has ended with exit code 0.", code: 0 })
    },
    kill: () => void (given.isKilled = true)
  }
  const client = new RpcClient({ command: ["test"], ...options }, (_, listener) => {
    given.listener = listener
    return channel
  })
  const bytes = (text: string) => given.listener?.bytes(new TextEncoder().encode(text))
  const line = (value: object) => bytes(`${JSON.stringify(value)}\n`)
  const event = (type: string, more: object = {}) => line({ type, conversationId: "c", turnId: "t", ...more })
  return { client, sent, given, bytes, line, event }
}

const failure = async (promise: Promise<unknown>): Promise<RpcError> => {
  try {
    await promise
  } catch (error) {
    assert.instanceOf(error, RpcError)
    return error as RpcError
  }
  return assert.fail("it succeeded")
}

describe("RpcClient over a channel", () => {
  it("sends each command with an id of its own, and gives each the answer of its id", async () => {
    const { client, line, sent } = start()
    const applied = [
      client.abort(),
      client.abortRetry(),
      client.retryNow({ commandId: "k" }),
      client.waitUntil(new Date(5)),
      client.switchTarget("a/b"),
      client.extendBudget(7),
      client.answerTool({ toolCallId: "x", approve: true }),
      client.answerTool({ toolCallId: "y", approve: false, reason: "no" }),
      client.abort({ turnId: "t" })
    ]
    assert.deepStrictEqual(sent, [
      { id: 1, type: "abort" },
      { id: 2, type: "abort_retry" },
      { id: 3, type: "retry_now", commandId: "k" },
      { id: 4, type: "wait_until", until: 5 },
      { id: 5, type: "switch_target", model: "a/b" },
      { id: 6, type: "extend_budget", byMs: 7 },
      { id: 7, type: "answer_tool", toolCallId: "x", approve: true },
      { id: 8, type: "answer_tool", toolCallId: "y", approve: false, reason: "no" },
      { id: 9, type: "abort", turnId: "t" }
    ])
    for (let id = applied.length; id > 0; id--) {
      line({ type: "response", id, success: true, data: { applied: id % 2 === 0 } })
    }
    assert.deepStrictEqual(await Promise.all(applied), [false, true, false, true, false, true, false, true, false])
    const refused = failure(client.setAutoRetry(true))
    line({ type: "response", id: 10, success: false, code: "storage-unavailable", error: "The disk is full." })
    const { code, message, problem } = await refused
    assert.deepStrictEqual([code, message, problem], ["refused", "The disk is full.", "storage-unavailable"])
  })

  it("counts persisted events, over lines that are cut anywhere", () => {
    const { bytes, client, event } = start({ after: 4 })
    const seen: Array<string> = []
    const off = client.on(({ type }: TurnEvent.TurnEvent) => seen.push(type))
    event("turn-start")
    for (const type of ["step-start", "text-delta", "reasoning-delta", "provider-retry", "tools-missing"]) event(type)
    const text = `${JSON.stringify({ type: "usage", conversationId: "c", turnId: "t" })}\n`
    for (const character of text) bytes(character)
    assert.strictEqual(client.lastEventId, 6)
    bytes(text.slice(0, -1))
    assert.strictEqual(client.lastEventId, 6)
    assert.deepStrictEqual(seen.slice(-2), ["tools-missing", "usage"])
    off()
    bytes("\n")
    assert.strictEqual(client.lastEventId, 7)
    assert.lengthOf(seen, 7)
  })

  it("ends a prompt with its turn; with the process's end every call fails, with its last words", async () => {
    const { client, event, given, line, sent } = start()
    const first = client.prompt("Hi", { turnId: "t" })
    assert.deepStrictEqual(sent, [{ id: 1, type: "prompt", prompt: "Hi", turnId: "t" }])
    line({ type: "response", id: 1, success: true, data: { turnId: "t" } })
    event("turn-end", { status: "completed" })
    assert.deepInclude(await first, { turnId: "t", status: "completed", text: "" })

    const events = client.events()
    const waiting = [failure(client.retry()), failure(client.getState())]
    given.listener?.log("No space left on device")
    given.listener?.closed({ message: "holdfast rpc has ended with exit code 1.", code: 1 })
    for (const { code, message } of await Promise.all(waiting)) {
      assert.strictEqual(code, "closed")
      assert.include(message, "exit code 1. It wrote: No space left on device")
    }
    assert.strictEqual((await failure(client.abort())).code, "closed")
    assert.isTrue((await events.next()).done)
    assert.strictEqual(await client.close(), 1)
  })

  it("gives a process up that writes something else", async () => {
    const { bytes, client, given } = start()
    const call = failure(client.getState())
    bytes("Segmentation fault\n")
    assert.include((await call).message, "Segmentation fault")
    assert.isTrue(given.isKilled)
  })

  it("refuses a command that no process reads, and ends the process where it is disposed", async () => {
    const { client, given, sent } = start()
    assert.strictEqual((await failure(client.prompt("x".repeat(1024 * 1024)))).code, "refused")
    assert.lengthOf(sent, 0)
    await client[Symbol.asyncDispose]()
    assert.isTrue(given.isEnded)
  })
})
