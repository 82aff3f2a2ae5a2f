/** Tests the service as a process that runs out of file descriptors. */
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import * as Net from "node:net"
import * as Descriptors from "../../../src/base/system/Descriptors.ts"
import * as Process from "../../service/Process.ts"
import * as It from "../../It.ts"

const LIMIT = 128

/**
 * Begins a call: its connection is accepted, and its first line is there. `finish` sends the rest, and returns the answer; the connection stays
 * open.
 */
const begun = async (port: number, path: string, body?: object) => {
  const socket = Net.connect(port, "127.0.0.1")
  await once(socket, "connect")
  // The service may end first; a call that is cut throws where its answer is read.
  socket.on("error", () => {})
  socket.write(`${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\n`)
  return async (): Promise<{ readonly status: number; readonly text: string }> => {
    const json = body === undefined ? "" : JSON.stringify(body)
    const head = ["host: localhost", "content-type: application/json", `content-length: ${json.length}`]
    socket.write([...head, "", json].join("\r\n"))
    let whole = ""
    for await (const piece of socket.iterator({ destroyOnReturn: false })) {
      whole += String(piece)
      const [head = "", text] = whole.split("\r\n\r\n", 2)
      const length = /^content-length: (\d+)/imu.exec(head)?.[1]
      if (text !== undefined && length !== undefined && text.length >= Number(length))
        return { status: Number(head.split(" ", 2)[1]), text }
    }
    throw new Error(`The answer ended early: ${whole}`)
  }
}

It.live("without free descriptors new calls get 503, the health is answered, and the service goes on", function* () {
  const provider = createServer((_, response) => response.end("{}"))
  yield* Effect.promise(() => new Promise<void>((resolve) => void provider.listen(0, "127.0.0.1", resolve)))
  yield* Effect.addFinalizer(() => Effect.sync(() => provider.close()))
  const address = provider.address()
  const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
  const service = yield* Process.start({
    directory: yield* Process.directory,
    config: { providers: { own: { type: "openai-compatible", baseUrl } }, model: "own/m" },
    descriptors: LIMIT
  })
  // The service closes an idle connection after a while, and one with a call that has begun it does not.
  const [calling, accepting, alive, healthy] = yield* Effect.promise(() =>
    Promise.all([
      begun(service.port, "/to/own/chat/completions", { model: "m", messages: [] }),
      begun(service.port, "/v1/turns", { prompt: "Hi" }),
      begun(service.port, "/healthz"),
      begun(service.port, "/v1/health")
    ])
  )
  const sockets = Array.from({ length: 2 * LIMIT }, () => {
    const socket = Net.connect(service.port, "127.0.0.1")
    return socket.on("error", () => {})
  })
  const isFull = Promise.race(sockets.map((socket) => new Promise((resolve) => void socket.once("close", resolve))))
  yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))
  yield* Effect.promise(() =>
    Promise.all(
      sockets.map((socket) => new Promise((resolve) => void socket.once("connect", resolve).once("close", resolve)))
    )
  )
  // It closes connections once it has no descriptor left for them.
  yield* Effect.promise(() => isFull)
  const refused = yield* Effect.promise(calling)
  expect(refused.status).toBe(503)
  expect(JSON.parse(refused.text).error.message).toBe(Descriptors.FEW_LEFT)
  expect((yield* Effect.promise(accepting)).status).toBe(503)
  for (const finish of [alive, healthy]) expect((yield* Effect.promise(finish)).status).toBe(200)
  for (const socket of sockets) socket.destroy()
  yield* Process.eventually(
    "calls to be taken again",
    Effect.promise(async () => (await begun(service.port, "/v1/conversations", {}))()),
    ({ status }) => status === 201
  )
  expect(service.child.exitCode).toBeNull()
})
