import { afterEach, assert, describe, it, vi } from "vitest"
import { ClientError, type ClientOptions, HoldfastClient } from "../../src/index.ts"
import { SILENCE_MS } from "../../src/transport/ServiceTransport.ts"

type Fetch = NonNullable<ClientOptions["fetch"]>
type Asked = Parameters<Fetch>

/** Answers calls one after the other; notes what was asked. */
const answering = (...answers: ReadonlyArray<(...asked: Asked) => ReturnType<Fetch>>) => {
  const asked: Array<Asked> = []
  const fetch: Fetch = (...call) => {
    const answer = answers[asked.length]
    asked.push(call)
    return answer === undefined ? Promise.reject(new Error("no further answer")) : answer(...call)
  }
  const client = new HoldfastClient({ url: "http://service.test", token: "secret", fetch, backoff: { firstMs: 1 } })
  return { asked, client }
}

const response =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  async () => ({
    ok: status < 400,
    status,
    headers: { get: (name: string) => headers[name] ?? null },
    text: async () => (typeof body === "string" ? body : JSON.stringify(body)),
    body: null
  })

const lost = () => Promise.reject(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") }))

/** A stream that has some text, and is then silent until it is cut. */
const silent =
  (text: string) =>
  async (_: string, { signal }: Asked[1]) => {
    const pieces = [new TextEncoder().encode(text)]
    const read = () => {
      const value = pieces.shift()
      if (value !== undefined) return Promise.resolve({ done: false, value })
      return new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
    }
    return {
      ...(await response(200, "")()),
      body: { getReader: () => ({ read, cancel: () => Promise.resolve() }) }
    }
  }

const failure = async (promise: Promise<unknown>): Promise<ClientError> => {
  try {
    await promise
  } catch (error) {
    assert.instanceOf(error, ClientError)
    return error as ClientError
  }
  return assert.fail("it succeeded")
}

const frame = (type: string, id: number) =>
  `id: ${id}\ndata: ${JSON.stringify({ type, conversationId: "c", turnId: "t" })}\n\n`

const starting = { type: "/docs#problem-starting", title: "The service is starting", status: 503 }

afterEach(() => void vi.useRealTimers())

describe("the calls of a client", () => {
  it("are made again while the service is away or about to be back, with the same id", async () => {
    const { asked, client } = answering(lost, response(503, starting), response(202, { turnId: "x" }))
    const turn = await client.conversation("c").prompt("Hi")
    const bodies = asked.map(([, { body = "" }]) => JSON.parse(body))
    assert.deepStrictEqual(
      bodies,
      Array.from({ length: 3 }, () => ({ prompt: "Hi", turnId: turn.id }))
    )
    assert.strictEqual(asked[0]?.[1].headers["authorization"], "Bearer secret")
    assert.isFalse(asked.some(([url]) => url.includes("secret")))
  })

  it("that open or abort are made once", async () => {
    const opened = answering(lost, response(201, { conversationId: "c" }))
    assert.strictEqual((await failure(opened.client.createConversation())).code, "unreachable")
    const aborted = answering(lost, response(202, ""))
    const { code, message } = await failure(aborted.client.conversation("c").abort())
    assert.deepStrictEqual(
      [code, message],
      ["unreachable", "The service at http://service.test does not answer: connect ECONNREFUSED"]
    )
  })

  it("that abort without the id of a turn are made once, also with an empty field for it", async () => {
    const { asked, client } = answering(lost, response(202, ""))
    const error = await failure(client.conversation("c").abort({ turnId: undefined } as never))
    assert.deepStrictEqual([error.code, asked.length], ["unreachable", 1])
  })

  it("that abort one turn are made again", async () => {
    const { asked, client } = answering(lost, response(202, ""))
    await client.conversation("c").abort({ turnId: "t" })
    assert.deepStrictEqual(
      asked.map(([, { body = "" }]) => JSON.parse(body)),
      [{ turnId: "t" }, { turnId: "t" }]
    )
  })

  it("name what answers in the place of a service", async () => {
    const { client } = answering(response(404, "<html>"), response(200, "<html>"))
    const error = await failure(client.conversation("c").getState())
    assert.deepStrictEqual([error.code, error.status, error.problem], ["invalid-response", 404, undefined])
    assert.strictEqual((await failure(client.conversation("c").getState())).code, "invalid-response")
  })
})

describe("a stream of a client", () => {
  it("that is silent for longer than two keep-alives is cut, and goes on behind its last event", async () => {
    vi.useFakeTimers()
    const { asked, client } = answering(silent(frame("turn-start", 1)), silent(frame("usage", 2)))
    const events = client.conversation("c").events()[Symbol.asyncIterator]()
    assert.strictEqual((await events.next()).value?.type, "turn-start")
    const next = events.next()
    await vi.advanceTimersByTimeAsync(SILENCE_MS + 10)
    assert.strictEqual((await next).value?.type, "usage")
    assert.deepStrictEqual(
      asked.map(([url]) => url),
      [0, 1].map((after) => `http://service.test/v1/conversations/c/events?after=${after}`)
    )
    await events.return?.()
  })

  it("knows the difference of the clocks from the service's responses", async () => {
    vi.useFakeTimers({ now: 1_000_000 })
    const date = new Date(1_090_000).toUTCString()
    const { client } = answering(response(200, { status: "idle" }, { date }), silent(frame("turn-start", 1)))
    await client.conversation("c").getState()
    const events = client.conversation("c").events()
    assert.strictEqual(events.clockSkewMs, 90_000)
    const { value: view } = await events.views().next()
    assert.strictEqual(view?.clockSkewMs, 90_000)
  })

  it("reports an earlier copy of its conversation, and passes nothing of it on", async () => {
    const { client } = answering(silent(frame("turn-start", 1)))
    const events = client.conversation("c").events({ after: 5 })
    assert.strictEqual((await failure(events[Symbol.asyncIterator]().next())).code, "restored")
    assert.strictEqual(events.lastEventId, 5)
  })

  it("that is left in the middle of a read goes on behind the last event that was taken", async () => {
    const { asked, client } = answering(silent(frame("turn-start", 1) + frame("usage", 2)), silent(frame("usage", 2)))
    const stream = client.conversation("c").events()
    for await (const event of stream) {
      assert.strictEqual(event.type, "turn-start")
      break
    }
    assert.strictEqual(stream.lastEventId, 1)
    for await (const event of stream) {
      assert.strictEqual(event.type, "usage")
      break
    }
    assert.include(asked[1]?.[0], "after=1")
  })

  it("of a turn that it runs hands the prompt in first, and goes on with the turn's events when it breaks off", async () => {
    const ending = (text: string) => async () => {
      const pieces = [new TextEncoder().encode(text)]
      const read = async () => {
        const value = pieces.shift()
        return value === undefined ? { done: true } : { done: false, value }
      }
      return { ...(await response(200, "")()), body: { getReader: () => ({ read, cancel: async () => {} }) } }
    }
    const { asked, client } = answering(
      response(503, ""),
      ending(frame("turn-start", 7)),
      ending(frame("turn-start", 7) + frame("turn-end", 8))
    )
    const types: Array<string> = []
    for await (const { type } of client.conversation("c").run("Hi", { turnId: "t" })) types.push(type)
    assert.deepStrictEqual(types, ["turn-start", "turn-end"])
    assert.deepStrictEqual(
      asked.map(([url, { body, method }]) => [method, url.slice("http://service.test".length), body]),
      [
        ...Array.from({ length: 2 }, () => ["POST", "/v1/conversations/c/turns", '{"prompt":"Hi","turnId":"t"}']),
        ["GET", "/v1/turns/t/events", undefined]
      ]
    )
  })
})
