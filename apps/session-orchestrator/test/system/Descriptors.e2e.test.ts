/** Tests the service as a process that runs out of file descriptors. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import * as Http from "node:http"
import * as Net from "node:net"
import * as Descriptors from "../../src/system/Descriptors.ts"
import * as Process from "../service/Process.ts"

const LIMIT = 128

/** Calls on one connection, which stays open unless the service closes it. */
const caller = (port: number) => {
  const agent = new Http.Agent({ keepAlive: true, maxSockets: 1 })
  return (path: string, body?: object): Promise<{ readonly status: number | undefined; readonly text: string }> =>
    new Promise((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST"
      const headers = { "content-type": "application/json" }
      const request = Http.request({ port, host: "127.0.0.1", path, method, agent, headers }, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (piece: string) => (text += piece))
        response.on("end", () => resolve({ status: response.statusCode, text }))
      })
      request.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body))
    })
}

it.live("without free descriptors new calls get 503, the health is answered, and the service goes on", () =>
  Effect.gen(function* () {
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
    const [healthy, calling, accepting] = [caller(service.port), caller(service.port), caller(service.port)]
    const status = (call: ReturnType<typeof caller>, path: string, body?: object) =>
      Effect.map(
        Effect.promise(() => call(path, body)),
        ({ status }) => status
      )
    for (const call of [healthy, calling, accepting]) expect(yield* status(call, "/healthz")).toBe(200)
    const sockets = Array.from({ length: 2 * LIMIT }, () => {
      const socket = Net.connect(service.port, "127.0.0.1")
      return socket.on("error", () => {})
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))
    yield* Effect.promise(() =>
      Promise.all(
        sockets.map((socket) => new Promise((resolve) => void socket.once("connect", resolve).once("close", resolve)))
      )
    )
    const refused = yield* Effect.promise(() => calling("/to/own/chat/completions", { model: "m", messages: [] }))
    expect(refused.status).toBe(503)
    expect(JSON.parse(refused.text).error.message).toBe(Descriptors.FEW_LEFT)
    expect(yield* status(accepting, "/v1/turns", { prompt: "Hi" })).toBe(503)
    for (const path of ["/healthz", "/v1/health"]) expect(yield* status(healthy, path)).toBe(200)
    for (const socket of sockets) socket.destroy()
    yield* Process.eventually(
      "calls to be taken again",
      Effect.promise(() => healthy("/v1/conversations", {})),
      ({ status }) => status === 201
    )
    expect(service.child.exitCode).toBeNull()
  }).pipe(Effect.scoped),
  // A server closes a connection that is idle for 5 s, and no other one is accepted then: a machine that is that slow tries again.
  { timeout: 45_000, retry: 3 }
)
