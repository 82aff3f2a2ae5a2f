import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schedule, Scope } from "effect"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import * as Connection from "../../src/Connection.ts"
import * as StreamableHttp from "../../src/transport/StreamableHttp.ts"
import * as Intake from "../../src/transport/Intake.ts"

const stream = (type: string, ...chunks: ReadonlyArray<string>) =>
  new Response(Readable.toWeb(Readable.from(chunks.map((chunk) => Buffer.from(chunk)))), {
    headers: { "content-type": type }
  })

const reads = (response: Response) =>
  Effect.runPromise(
    Effect.option(Effect.tryPromise(() => StreamableHttp.bounded(response, new Intake.Intake(Date.now), 100).text()))
  ).then((text) => text._tag === "Some")

describe("a response of a tool server", () => {
  it("is read up to its limit as a whole", async () => {
    assert.isTrue(await reads(stream("application/json", "x".repeat(60), "y".repeat(40))))
    assert.isFalse(await reads(stream("application/json", "x".repeat(60), "y".repeat(41))))
  })

  it("is read without a limit as a stream, and up to the limit from one event to the next", async () => {
    const event = `data: ${"x".repeat(50)}\n\n`
    assert.isTrue(await reads(stream("text/event-stream", ...Array.from({ length: 50 }, () => event))))
    assert.isTrue(await reads(stream("text/event-stream", ...Array.from({ length: 50 }, () => `${event}da`))))
    assert.isTrue(await reads(stream("text/event-stream", "x".repeat(80), "\r\n\r\n", "y".repeat(80))))
    assert.isFalse(await reads(stream("text/event-stream", event, "x".repeat(60), "y".repeat(60))))
  })
})

/** A server that completes the handshake and answers a call as the test decides. */
const listen = (onCall: (response: ServerResponse, id: number) => void, ended: Array<string> = []) =>
  Effect.gen(function* () {
    const server = createServer((request, response) => {
      if (request.method === "DELETE") ended.push(String(request.headers["mcp-session-id"]))
      if (request.method !== "POST") return void response.writeHead(405).end()
      let body = ""
      request.setEncoding("utf8").on("data", (text: string) => (body += text))
      request.on("end", () => {
        const { id, method } = JSON.parse(body) as { readonly id: number; readonly method: string }
        if (method === "tools/call") return onCall(response, id)
        if (id === undefined) return void response.writeHead(202).end()
        const result = {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "s", version: "1" }
        }
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "session-1" })
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result }))
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => (server.closeAllConnections(), server.close()))
    )
    const { port } = server.address() as AddressInfo
    const connect = Effect.gen(function* () {
      const way = yield* StreamableHttp.make({ type: "http", url: `http://127.0.0.1:${port}/mcp`, headers: {} })
      return { ...(yield* Connection.make(way)), way }
    })
    return { connect }
  })

const serve = (onCall: (response: ServerResponse, id: number) => void) =>
  Effect.flatMap(listen(onCall), ({ connect }) => connect)

/** Writes an event repeatedly, as fast as it is read. */
const pour = (response: ServerResponse, event: string, onPiece: () => void = () => {}): void => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  const piece = event.repeat(AT_ONCE)
  const more = (): void => {
    onPiece()
    if (response.write(piece)) setImmediate(more)
    else response.once("drain", more)
  }
  more()
}

const AT_ONCE = 100

/** The events that sockets and their buffers may hold unread. */
const IN_SOCKETS = 4_000

describe("a call over HTTP", () => {
  it.live("with an answer beyond the limit ends", () =>
    Effect.gen(function* () {
      const connection = yield* serve((response, id) => {
        response.setHeader("content-type", "application/json")
        const text = "x".repeat(9 * 1_048_576)
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } }))
      })
      const error = yield* Effect.flip(connection.call("t", {}))
      assert.strictEqual(error._tag === "CallError" && error.isRefusal, false)
      assert.include(error.message, "8 MiB")
    }).pipe(Effect.scoped)
  )

  it.live("whose stream breaks off, or sends too much, ends", () =>
    Effect.gen(function* () {
      for (const said of ["event: message\ndata: {", ": nothing\n\n", `data: ${"x".repeat(9 * 1_048_576)}`]) {
        const connection = yield* serve((response) => {
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.write(said, () => response.destroy())
        })
        const error = yield* Effect.flip(connection.call("t", {}))
        assert.strictEqual(error._tag === "CallError" && error.isRefusal, false)
      }
    }).pipe(Effect.scoped)
  )

  it.live("is part of a session, which ends with the connection", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const server = yield* Scope.fork(yield* Scope.Scope)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { connect } = yield* Scope.provide(
            listen(() => {}, ended),
            server
          )
          yield* connect
          assert.deepStrictEqual(ended, [])
        })
      )
      assert.deepStrictEqual(ended, ["session-1"])
    }).pipe(Effect.scoped)
  )

  it.live("whose session is gone is no refusal, so that a new session begins", () =>
    Effect.gen(function* () {
      const connection = yield* serve((response) => void response.writeHead(404).end("no such session"))
      const error = yield* Effect.flip(connection.call("t", {}))
      assert.strictEqual(error._tag === "CallError" && error.isRefusal, false)
      assert.isFalse(yield* Deferred.isDone(connection.way.lost))
    }).pipe(Effect.scoped)
  )

  it.live(
    "beside which events without an end come that are no message ends the connection, while the event loop turns",
    () =>
      Effect.gen(function* () {
        for (const event of ["data: x\n\n", "data: {}\n\n", 'data: {"jsonrpc":"2.0","id":99,"result":{}}\n\n']) {
          const connection = yield* serve((response) => pour(response, event))
          let turned = 0
          const next = (): void => {
            turned++
            setImmediate(next).unref()
          }
          const call = yield* Effect.forkChild(Effect.flip(connection.call("t", {})), { startImmediately: true })
          next()
          const why = yield* connection.lost
          assert.include(why, "lines that are no message", event)
          assert.isAtLeast(turned, Intake.JUNK.burst / Intake.WORK_PER_TURN - 1, event)
          assert.include((yield* Fiber.join(call)).message, "lines that are no message")
        }
      }).pipe(Effect.scoped)
  )

  it.live("beside which notifications without an end come is answered, and they are read at their rate", () =>
    Effect.gen(function* () {
      const params = { data: "x".repeat(4_000) }
      const event = `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params })}\n\n`
      let poured = 0
      const connection = yield* serve((response, id) => {
        const text = String(poured)
        if (poured > 0) {
          response.setHeader("content-type", "application/json")
          return void response.end(
            JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } })
          )
        }
        pour(response, event, () => poured++)
      })
      const { burst, perSecond } = Intake.UNREQUESTED
      const since = Date.now()
      yield* Effect.forkChild(Effect.ignore(connection.call("t", {})), { startImmediately: true })
      const cost = 2 + 4 // an event is two lines, and 4 KiB
      const events = (least: number) =>
        Effect.as(connection.call("t", {}), () => poured * AT_ONCE)
          .pipe(Effect.map((count) => count()))
          .pipe(Effect.repeat({ until: (count) => count >= least, schedule: Schedule.spaced("20 millis") }))
      const read = yield* events(burst / cost + 2.5 * IN_SOCKETS)
      // A reader that is slower than the rate fills its budget again, so all of it counts.
      assert.isAtLeast(Date.now() - since, (((read - IN_SOCKETS) * cost - burst) / perSecond) * 1_000)
    }).pipe(Effect.scoped)
  )

  it.live("that is answered by a batch is read up to 64 KiB", () =>
    Effect.gen(function* () {
      const note = { jsonrpc: "2.0", method: "notifications/message", params: {} }
      for (const [notes, isRead] of [
        [10, true],
        [10_000, false]
      ] as const) {
        const connection = yield* serve((response, id) => {
          response.setHeader("content-type", "application/json")
          const answer = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "x" }] } }
          response.end(JSON.stringify([...Array.from({ length: notes }, () => note), answer]))
        })
        const result = yield* Effect.exit(connection.call("t", {}))
        assert.strictEqual(Exit.isSuccess(result), isRead)
      }
    }).pipe(Effect.scoped)
  )
})
