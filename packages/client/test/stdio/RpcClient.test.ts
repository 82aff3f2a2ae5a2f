/** Tests the parts of the client that need no process; `Rpc.e2e.test.ts` of the service has the client with one. */
import { Ids, type TurnEvent } from "@holdfast/wire"
import { describe, expect, it } from "vitest"
import { EventQueue, MOST_BEHIND } from "../../src/stdio/EventQueue.ts"
import { RpcError } from "../../src/ClientError.ts"
import { TurnResults } from "../../src/stdio/TurnResults.ts"

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
  it("has every event in order, whether it waits for them or they for it, and then ends", async () => {
    const queue = new EventQueue<number>(() => {})
    queue.push(1)
    queue.push(2)
    const seen: Array<number> = []
    const reading = (async () => {
      for await (const item of queue) seen.push(item)
    })()
    await Promise.resolve()
    queue.push(3)
    queue.end()
    await reading
    expect(seen).toEqual([1, 2, 3])
  })

  it("that is left wants no further event", async () => {
    let overs = 0
    const queue = new EventQueue<number>(() => overs++)
    queue.push(1)
    for await (const _ of queue) break
    queue.push(2)
    expect(overs).toBe(1)
    expect(await queue.next()).toEqual({ done: true, value: undefined })
  })

  it("rule P16: that falls too far behind fails once, and keeps nothing", async () => {
    let overs = 0
    const queue = new EventQueue<number>(() => overs++)
    for (let n = 0; n <= MOST_BEHIND; n++) queue.push(n)
    expect(overs).toBe(1)
    await expect(queue.next()).rejects.toMatchObject({ code: "too-slow" })
    expect(await queue.next()).toEqual({ done: true, value: undefined })
  })
})
