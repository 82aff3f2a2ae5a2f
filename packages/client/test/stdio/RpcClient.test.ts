/** Tests the parts of the client that need no process; `Rpc.e2e.test.ts` of the service has the client with one. */
import { Ids, type TurnEvent } from "@holdfast/wire"
import { describe, expect, it } from "vitest"
import type * as ProcessChannel from "../../src/stdio/ProcessChannel.ts"
import { RpcClient } from "../../src/stdio/RpcClient.ts"
import { Pushed } from "../../src/stream/Pushed.ts"
import { RpcError } from "../../src/ClientError.ts"
import { TurnResults } from "../../src/stdio/RpcClient.ts"

const of = (turnId: string) => ({ conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make(turnId) })

const end = (turnId: string): TurnEvent.TurnEnd => ({
  type: "turn-end",
  ...of(turnId),
  status: "completed",
  endedAt: 0,
  steps: 1,
  attempts: 1,
  sleptMs: 0,
  usage: {}
})

const answer = (turnId: string, text: string): TurnEvent.TurnEvent => ({
  type: "message",
  ...of(turnId),
  message: {
    role: "assistant",
    id: Ids.messageIdOf(Ids.TurnId.make(turnId), 1),
    turnId: Ids.TurnId.make(turnId),
    createdAt: 0,
    content: [
      { type: "reasoning", text: "hm" },
      { type: "text", text }
    ],
    target: { provider: "test", model: "m" }
  }
})

describe("results", () => {
  it("rule P13: come with the end of their turn, also where that precedes the answer with its id", async () => {
    const results = new TurnResults()
    results.expect()
    results.see(answer("a", "Once"))
    results.see(answer("a", "Twice"))
    results.see(end("a"))
    const early = results.of("a")
    const late = results.of("b")
    results.unexpect()
    results.see(end("b"))
    expect(await early).toEqual({ turnId: "a", status: "completed", text: "Twice", end: end("a") })
    expect(await late).toEqual({ turnId: "b", status: "completed", text: "", end: end("b") })
  })

  it("are not kept where no call expects one", () => {
    const results = new TurnResults()
    results.see(answer("a", "Once"))
    results.see(end("a"))
    results.expect()
    results.see(end("b"))
    results.unexpect()
    expect(Object.values(results).filter((kept) => kept instanceof Map && kept.size > 0)).toEqual([])
  })

  it("fail with the process", async () => {
    const results = new TurnResults()
    const waiting = results.of("a")
    const failure = new RpcError("closed", "It has ended.")
    results.fail(failure)
    await expect(waiting).rejects.toBe(failure)
    await expect(results.of("b")).rejects.toBe(failure)
  })
})

describe("an iteration over events", () => {
  const tooSlow = new RpcError("too-slow", "It was too far behind.")
  const started = (most = 2) => {
    let listener: ProcessChannel.Listener | undefined
    const client = new RpcClient({ command: ["none"] }, (_options, given) => {
      listener = given
      return { write: () => {}, end: () => {}, kill: () => {} }
    })
    const writes = (...events: ReadonlyArray<TurnEvent.TurnEvent>) =>
      listener?.bytes(new TextEncoder().encode(events.map((event) => `${JSON.stringify(event)}\n`).join("")))
    const ends = () => listener?.closed({ message: "It has ended.", code: 0 })
    return { client, writes, ends, pushed: new Pushed<number>(most, () => tooSlow) }
  }

  it("has every event in order, whether it waits for them or they for it, and then ends", async () => {
    const { client, ends, writes } = started()
    const events = client.events()
    writes(end("a"), end("b"))
    const seen: Array<string> = []
    const reading = (async () => {
      for await (const { turnId } of events) seen.push(turnId)
    })()
    await Promise.resolve()
    writes(end("c"))
    ends()
    await reading
    expect(seen).toEqual(["a", "b", "c"])
  })

  it("that is left has no further event", async () => {
    const { client, writes } = started()
    const events = client.events()
    writes(end("a"))
    for await (const _ of events) break
    writes(end("b"))
    expect(await events.next()).toEqual({ done: true, value: undefined })
  })

  it("that is left while it waits ends at once, and so does one that was never read", async () => {
    const { client, writes } = started()
    const [waiting, unread] = [client.events(), client.events()]
    const next = waiting.next()
    const over = { done: true, value: undefined }
    expect(await Promise.all([waiting.return?.(), next, unread.return?.()])).toEqual([over, over, over])
    writes(end("a"))
    expect(await Promise.all([waiting.next(), unread.next()])).toEqual([over, over])
  })

  it("rule P16: that falls too far behind fails, and keeps nothing", async () => {
    const { pushed } = started()
    for (const n of [1, 2, 3, 4]) pushed.push(n)
    await expect(pushed.next()).rejects.toBe(tooSlow)
  })
})
