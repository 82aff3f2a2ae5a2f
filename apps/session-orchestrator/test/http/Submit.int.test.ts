/** Tests submitting a turn over a socket: the answer comes without waiting (X15). */
import { defined } from "@holdfast/wire"
import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

const ASYNC = { prefer: "respond-async" }

const submit = (server: Effect.Success<ReturnType<typeof TestServer.start>>, id: string, body: object) =>
  server.call({ path: `/v1/conversations/${id}/turns`, headers: ASYNC, body })

describe("Prefer: respond-async", () => {
  It.effect(
    "rule X15: is answered with the turn's id and address while it runs, and again by the same id",
    function* () {
      const server = yield* TestServer.start()
      const id = yield* server.create
      const body = { prompt: "hello", turnId: "t" }
      for (const answer of [yield* submit(server, id, body), yield* submit(server, id, body)]) {
        assert.strictEqual(answer.status, 202, answer.text)
        assert.deepStrictEqual(JSON.parse(answer.text), { turnId: "t" })
        assert.deepInclude(answer.headers, {
          location: "/v1/turns/t",
          "preference-applied": "respond-async",
          "cache-control": "no-store"
        })
      }
      assert.isFalse(yield* Deferred.isDone(server.conversations.turn("t").awaited))
      assert.isTrue(server.conversations.turn("t").isSubmitted)
    }
  )

  It.effect("rule X15: makes an id if the client has none, and accepts a manual retry as well", function* () {
    const server = yield* TestServer.start()
    const id = yield* server.create
    for (const [name, body] of [
      ["turns", { prompt: "hello" }],
      ["retry", undefined],
      ["retry", { turnId: "r" }]
    ] as const) {
      const path = `/v1/conversations/${id}/${name}`
      const answer = yield* server.call({ method: "POST", path, headers: ASYNC, ...defined({ body }) })
      assert.strictEqual(answer.status, 202, answer.text)
      const { turnId } = JSON.parse(answer.text)
      assert.strictEqual(answer.headers.location, `/v1/turns/${turnId}`)
      assert.strictEqual(server.conversations.turn(turnId).conversationId, id)
      assert.isTrue(server.conversations.turn(turnId).isSubmitted)
    }
  })

  It.effect("rule X15: works in any of several headers, and overrides Accept; others are ignored", function* () {
    const server = yield* TestServer.start()
    const id = yield* server.create
    const path = `/v1/conversations/${id}/turns`
    const answer = yield* server.call({
      path,
      headers: { prefer: ["wait=10", 'note="x, y", Respond-Async'], accept: "text/event-stream" },
      body: { prompt: "hello", turnId: "t" }
    })
    assert.strictEqual(answer.status, 202)
    const other = yield* Effect.forkChild(
      server.call({ path, headers: { prefer: "wait=10" }, body: { prompt: "hello", turnId: "u" } })
    )
    const turn = yield* server.conversations.arrival("u")
    yield* Deferred.await(turn.awaited)
    yield* Fiber.interrupt(other)
  })

  It.effect("takes a prompt of texts and files, and refuses a file with place, size and limit", function* () {
    const server = yield* TestServer.start({ maxFileBytes: 1024 })
    const id = yield* server.create
    const file = (n: number) => ({ type: "file", mediaType: "image/png", data: Buffer.alloc(n).toString("base64") })
    const send = (prompt: unknown, turnId = "t") =>
      Effect.map(submit(server, id, { prompt, turnId }), ({ status, text }) => ({ status, body: JSON.parse(text) }))
    const text = { type: "text", text: "What is it?" }
    assert.strictEqual((yield* send([text, file(1024)])).status, 202)
    const large = yield* send([text, file(3), file(1025)])
    assert.deepInclude(large.body, {
      type: "/docs#problem-file-too-large",
      status: 413,
      part: "prompt[2]",
      sizeBytes: 1025,
      limitBytes: 1024,
      detail:
        "prompt[2], [image image/png 1 kB], has 1025 bytes. A file may have 1024 bytes at most (server.maxFileBytes)."
    })
    const broken = yield* send([text, { ...file(3), data: "not base64" }])
    assert.strictEqual(broken.status, 400)
    assert.deepStrictEqual(broken.body.errors, [
      {
        in: "body",
        path: "prompt.1.data",
        message:
          "expected the file's bytes as base64: letters, digits, + and /, padded with = to a multiple of 4 characters"
      }
    ])
    const both = yield* send([{ ...file(3), url: "https://a.example/b.png" }])
    assert.deepStrictEqual(both.body.errors, [
      { in: "body", path: "prompt.0", message: "expected data or url, and one of them only" }
    ])
  })
})
