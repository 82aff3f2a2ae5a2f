import { SocketMessages } from "@holdfast/wire/rpc"
import { assert, describe, it } from "vitest"
import { ClientError, HoldfastClient } from "../../src/index.ts"
import { fake } from "./FakeService.ts"

const ready = { status: 200, body: {} }

const event = (type: string, eventId?: number): object => ({
  type,
  conversationId: "c",
  turnId: "t",
  ...(eventId === undefined ? undefined : { eventId })
})

const failure = async (promise: Promise<unknown>): Promise<ClientError> => {
  try {
    await promise
  } catch (error) {
    assert.instanceOf(error, ClientError)
    return error as ClientError
  }
  return assert.fail("it succeeded")
}

const valueOf = async (next: Promise<IteratorResult<unknown>>): Promise<unknown> => (await next).value

describe("the WebSocket of a client", () => {
  it("carries the token as a subprotocol, and never in the address", async () => {
    const { options, socket } = fake(() => ready)
    const client = new HoldfastClient({ ...options, token: "ü/+?" })
    const abort = failure(client.conversation("c").abort())
    const { protocols, url } = await socket(0)
    assert.strictEqual(url, `wss://service.test${SocketMessages.PATH}`)
    assert.deepStrictEqual(protocols, [SocketMessages.SUBPROTOCOL, SocketMessages.tokenProtocol("ü/+?")])
    client.close()
    assert.strictEqual((await abort).code, "closed")
  })

  it("gives bare deltas the ids of their turn, and ends the turn's stream with its end", async () => {
    const { options, socket } = fake(() => ready)
    const client = new HoldfastClient(options)
    const turn = client.conversation("c").turn("t")
    const collected = (async () => {
      const all: Array<unknown> = []
      for await (const one of turn) all.push(one)
      return all
    })()
    const service = await socket(0)
    service.emit("open")
    const { id, ...command } = await service.accept("subscribe")
    assert.deepStrictEqual(command, { type: "subscribe", conversationId: "c", turnId: "t", after: 0, deltas: "bare" })
    service.message(event("turn-start", 7))
    service.message({ id, type: "text-delta", delta: "Hi" })
    service.message(event("turn-end", 8))
    assert.deepStrictEqual(await collected, [
      event("turn-start"),
      { type: "text-delta", conversationId: "c", turnId: "t", delta: "Hi" },
      event("turn-end")
    ])
    await service.command("unsubscribe")
    client.close()
    assert.isTrue(service.isClosed)
  })

  it("subscribes again behind its last event, on another socket", async () => {
    const { options, socket } = fake(() => ready)
    const client = new HoldfastClient(options)
    const events = client.conversation("c").events()[Symbol.asyncIterator]()
    const first = events.next()
    const before = await socket(0)
    before.emit("open")
    await before.accept("subscribe")
    before.message(event("turn-start", 1))
    assert.deepStrictEqual(await valueOf(first), event("turn-start"))
    const second = events.next()
    before.message({ type: "reconnect", code: "too-slow", message: "Too slow." })
    const after = await socket(1)
    after.emit("open")
    assert.deepInclude(await after.accept("subscribe"), { after: 1 })
    after.message(event("usage", 2))
    assert.deepStrictEqual(await valueOf(second), event("usage"))
    client.close()
  })

  it("has one subscription of a conversation on a socket", async () => {
    const { options, socket, sockets } = fake(() => ready)
    const client = new HoldfastClient(options)
    const reading = ["c", "c", "d"].map((id) =>
      failure(client.conversation(id).events()[Symbol.asyncIterator]().next())
    )
    const [one, two] = [await socket(0), await socket(1)]
    for (const service of [one, two]) service.emit("open")
    assert.deepInclude(await one.accept("subscribe"), { conversationId: "c" })
    assert.deepInclude(await one.accept("subscribe"), { conversationId: "d" })
    assert.deepInclude(await two.accept("subscribe"), { conversationId: "c" })
    assert.lengthOf(sockets, 2)
    client.close()
    for (const error of await Promise.all(reading)) assert.strictEqual(error.code, "closed")
  })

  it("asks over HTTP why a socket was refused, because a browser does not know", async () => {
    const problem = { type: "/docs#problem-unauthorized", title: "A token is needed", status: 401 }
    const { options, socket } = fake(() => ({ status: 401, body: problem }))
    const refused = failure(new HoldfastClient(options).conversation("c").prompt("Hi"))
    const service = await socket(0)
    service.emit("error")
    const { code, status } = await refused
    assert.deepStrictEqual([code, status], ["unauthorized", 401])
  })

  it("sends a command again whose answer was lost, with the same id, but no abort", async () => {
    const { options, socket } = fake(() => ready)
    const conversation = new HoldfastClient(options).conversation("c")
    const prompt = conversation.prompt("Hi", { turnId: "mine" })
    const before = await socket(0)
    before.emit("open")
    const { id: _, ...command } = await before.command("prompt")
    before.emit("close")
    const after = await socket(1)
    after.emit("open")
    const { id: __, ...again } = await after.accept("prompt", { turnId: "mine" })
    assert.deepStrictEqual(again, command)
    assert.strictEqual((await prompt).id, "mine")

    const abort = failure(conversation.abort())
    await after.command("abort")
    after.emit("close")
    assert.strictEqual((await abort).code, "unreachable")
  })

  it("hands a prompt with files, or a long one, in over HTTP, where a refusal costs no connection", async () => {
    const problem = { type: "/docs#problem-body-too-large", title: "The body is too large", status: 413 }
    const { options, sockets } = fake(() => ({ status: 413, body: problem }))
    const conversation = new HoldfastClient(options).conversation("c")
    for (const prompt of ["x".repeat(70_000), [{ type: "text", text: "x" }]] as const)
      assert.strictEqual((await failure(conversation.prompt(prompt))).code, "body-too-large")
    assert.lengthOf(sockets, 0)
  })

  it("names the problem of a refused command, and of a conversation that was deleted", async () => {
    const { options, socket } = fake(() => ready)
    const client = new HoldfastClient(options)
    const refused = failure(client.conversation("c").switchTarget("nowhere"))
    const service = await socket(0)
    service.emit("open")
    const { id } = await service.command("switch_target")
    service.message({ type: "response", id, success: false, code: "invalid-request", error: "no such model" })
    const { code, message } = await refused
    assert.deepStrictEqual([code, message], ["invalid-request", "no such model"])

    const next = failure(client.conversation("c").events()[Symbol.asyncIterator]().next())
    await service.accept("subscribe")
    service.message({ type: "unsubscribed", conversationId: "c", code: "conversation-deleted", message: "Deleted." })
    assert.strictEqual((await next).code, "conversation-not-found")
    client.close()
  })

  it("gives a subscription up whose reader is too far behind, and begins again behind what was read", async () => {
    const { options, socket } = fake(() => ready)
    const client = new HoldfastClient(options)
    const events = client.conversation("c").events()[Symbol.asyncIterator]()
    const first = events.next()
    const before = await socket(0)
    before.emit("open")
    await before.accept("subscribe")
    before.message(event("turn-start", 1))
    await first
    for (let id = 2; id < 25_000; id++) before.message(event("usage", id))
    const second = events.next()
    await before.command("unsubscribe")
    // Its place on the first socket is not free until that is answered.
    const after = await socket(1)
    after.emit("open")
    assert.deepInclude(await after.accept("subscribe"), { after: 1 })
    after.message(event("usage", 2))
    assert.deepStrictEqual(await valueOf(second), event("usage"))
    client.close()
  })
})
