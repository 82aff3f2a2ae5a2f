import { defined } from "@holdfast/wire"
import { expect } from "@effect/vitest"
import { Effect, Logger, Redacted } from "effect"
import * as Socket from "./Socket.ts"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

/** Makes a call that is refused, and checks the fields of every problem. */
const refused = Effect.fnUntraced(function* (
  server: { readonly call: (request: Socket.Request) => Effect.Effect<Socket.Answer, Error> },
  request: Socket.Request
) {
  const { headers, status, text } = yield* server.call(request)
  expect(headers["content-type"]).toBe("application/problem+json")
  const problem = JSON.parse(text)
  expect(problem.status).toBe(status)
  expect(problem.type).toMatch(/^\/docs#problem-[a-z-]+$/)
  expect([problem.title, problem.detail]).toEqual([expect.any(String), expect.any(String)])
  expect(text).not.toMatch(/\.ts\b|node_modules|\\n +at /)
  return { status, headers, problem, name: String(problem.type).slice("/docs#problem-".length) }
})

It.effect("every wrong key is named, with its path and its part of the request", function* () {
  const server = yield* TestServer.start()
  const { problem, status } = yield* refused(server, {
    path: "/v1/conversations",
    body: { model: 7, sistem: "typo", system: null }
  })
  expect(status).toBe(400)
  expect(problem.errors).toEqual([
    { in: "body", path: "sistem", message: "Unknown key" },
    { in: "body", path: "model", message: "Expected string" },
    { in: "body", path: "system", message: 'expected a text, or an object such as {"name": "reviewer"}' }
  ])
})

It.effect("a body that is no object is refused as JSON has it, without the name of a schema", function* () {
  const server = yield* TestServer.start()
  const id = yield* server.create
  for (const [path, message] of [
    ["/v1/turns", "Expected object"],
    [`/v1/conversations/${id}/switch-target`, "Expected object"],
    [`/v1/conversations/${id}/retry-now`, "Expected object | null"]
  ] as const)
    for (const body of ["5", '"x"', "[]"]) {
      const { problem, status } = yield* refused(server, { path, body })
      expect([status, problem.errors]).toEqual([400, [{ in: "body", path: "", message }]])
    }
  const { problem } = yield* refused(server, { path: "/v1/turns/commands", body: { command: 5, filter: { tag: "a" } } })
  expect(problem.errors).toEqual([{ in: "body", path: "command", message: "Expected object" }])
})

It.effect("U+0000 is refused anywhere in a request, and its path is named", function* () {
  const server = yield* TestServer.start()
  const id = yield* server.create
  const at = (position: number) => `expected text without the character U+0000, which is at position ${position}`
  const refusals = [
    ["/v1/conversations", { system: "a\0" }, "body", "system", at(1)],
    ["/v1/conversations", { model: "\0" }, "body", "model", at(0)],
    ["/v1/conversations", { retry: { a: [{ b: "ab\0" }] } }, "body", "retry.a.0.b", at(2)],
    [`/v1/conversations/${id}/turns`, { prompt: "Hello\0" }, "body", "prompt", at(5)],
    ["/v1/turns", { prompt: " \n" }, "body", "prompt", "Expected a text that is not blank"],
    [`/v1/conversations/${id}/switch-target`, { model: "a/\0" }, "body", "model", at(2)]
  ] as const
  for (const [path, body, place, key, message] of refusals) {
    const { problem, status } = yield* refused(server, { path, body })
    expect([status, problem.errors]).toEqual([400, [{ in: place, path: key, message }]])
  }
  for (const [path, body, place, key] of [
    [`/v1/conversations/${id}/turns`, { prompt: "Hello", turnId: "t\0" }, "body", "turnId"],
    [`/v1/conversations/${id}/retry-now`, { commandId: "c\0" }, "body", "commandId"],
    ["/v1/conversations/c%00d", undefined, "path", "conversationId"]
  ] as const) {
    const { problem, status } = yield* refused(server, { path, ...defined({ body }) })
    expect(status).toBe(400)
    expect(problem.errors).toMatchObject([{ in: place, path: key }])
  }
})

It.effect("a problem does not quote the sent value", function* () {
  const server = yield* TestServer.start()
  const conversation = yield* server.create
  const path = `/v1/conversations/${conversation}/turns`
  const { problem } = yield* refused(server, { path, body: { prompt: 7, turnId: "sk-planted key" } })
  expect(JSON.stringify(problem)).not.toContain("planted")
})

const NONE = "conversation-not-found"
const cases: ReadonlyArray<readonly [string, Socket.Request, number, string]> = [
  ["a body that is no JSON", { path: "/v1/conversations", body: "{" }, 400, "invalid-request"],
  ["an id that can be none", { path: "/v1/conversations/a%20b" }, 400, "invalid-request"],
  ["a position that is none", { path: "/v1/conversations/c_1/events?after=-1" }, 400, "invalid-request"],
  ["a conversation that does not exist", { path: "/v1/conversations/c_none" }, 404, NONE],
  ["a stream of a conversation that does not exist", { path: "/v1/conversations/c/events" }, 404, NONE],
  ["a path that does not exist", { path: "/v2" }, 404, "not-found"],
  ["a method that a path does not take", { path: "/v1/conversations", method: "DELETE" }, 405, "method-not-allowed"],
  [
    "a body of another type",
    { path: "/v1/conversations", body: "model=x", headers: { "content-type": "text/plain" } },
    415,
    "unsupported-media-type"
  ],
  [
    "a form, which a foreign page could send unasked",
    { path: "/v1/conversations", body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } },
    415,
    "unsupported-media-type"
  ],
  ["a body that is too large", { path: "/v1/conversations", body: { system: "x".repeat(5000) } }, 413, "body-too-large"]
]

for (const [what, request, status, name] of cases) {
  It.effect(`${what} is the problem ${name}`, function* () {
    const server = yield* TestServer.start({ maxBodyBytes: 4096 })
    const answer = yield* refused(server, request)
    expect([answer.status, answer.name]).toEqual([status, name])
    if (status === 405) expect(answer.headers["allow"]).toBe("GET, HEAD, POST")
  })
}

It.effect("a body without an announced length is cut off at the limit too", function* () {
  const server = yield* TestServer.start({ maxBodyBytes: 4096 })
  const answer = yield* refused(server, {
    path: "/v1/conversations",
    method: "POST",
    headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
    chunks: [`{"system":"${"x".repeat(5000)}"}`]
  })
  expect(answer.name).toBe("body-too-large")
})

It.effect("a turn id that is taken is a conflict", function* () {
  const server = yield* TestServer.start()
  const path = `/v1/conversations/${yield* server.create}/turns`
  yield* server.open({ path, headers: { accept: "application/x-ndjson" }, body: { prompt: "a", turnId: "t" } })
  const answer = yield* refused(server, { path, body: { prompt: "b", turnId: "t" } })
  expect([answer.status, answer.name]).toEqual([409, "turn-conflict"])
})

It.effect("a bug is answered with an incident id, and only the log has the details", function* () {
  const logged: Array<string> = []
  const logger = Logger.map(Logger.formatJson, (line) => void logged.push(line))
  yield* Effect.gen(function* () {
    const server = yield* TestServer.start()
    const path = `/v1/conversations/${yield* server.create}`
    server.conversations.broken.defect = new TypeError("x.y is not a function")
    const { problem, status } = yield* refused(server, { path: `${path}?key=planted` })
    expect(status).toBe(500)
    expect(JSON.stringify(problem)).not.toContain("not a function")
    const entry = logged.find((line) => line.includes(problem.incident))
    for (const part of ["x.y is not a function", `"path":"${path}"`, `"method":"GET"`]) expect(entry).toContain(part)
    expect(entry).not.toContain("planted")
  }).pipe(Effect.provide(Logger.layer([logger])))
})

It.effect("a call without the token learns nothing, not even which calls exist", function* () {
  const server = yield* TestServer.start({ token: Redacted.make("a-token-of-some-length") })
  for (const path of ["/v1/conversations/c_1", "/docs/nowhere", "/openapi.json", "/metrics", "/readyz", "/nowhere"]) {
    const answer = yield* refused(server, { path })
    expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"])
  }
  expect((yield* server.call({ path: "/healthz" })).status).toBe(200)
  const authorization = "Bearer a-token-of-some-length"
  expect((yield* server.call({ path: "/readyz", headers: { authorization } })).status).toBe(200)
})

It.effect("a body of too many values or levels is refused with the limit, before it is parsed", function* () {
  const server = yield* TestServer.start()
  const id = yield* server.create
  const values = Array.from({ length: 200_000 }, () => ({}))
  for (const [path, body, member] of [
    [`/v1/conversations/${id}/turns`, { prompt: values }, "prompt"],
    ["/v1/chat", { id, messages: values }, "messages"]
  ] as const) {
    const { name, problem, status } = yield* refused(server, { path, body })
    expect([status, name]).toEqual([400, "invalid-request"])
    expect(problem.detail).toBe(`The body has more than 10000 values, in "${member}".`)
  }
  const deep = yield* server.call({ path: "/v1/chat", body: `${"[".repeat(5_000)}${"]".repeat(5_000)}` })
  expect([deep.status, JSON.parse(deep.text).detail]).toEqual([400, "The body has more than 200 levels."])
})

It.effect("a body is refused at the value that is too many; its connection is closed without the rest", function* () {
  const { port } = yield* TestServer.start()
  const head = "POST /v1/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
  const begun = `{"id":"c","messages":[${"{},".repeat(10_000)}`
  for (const sent of [
    `${head}content-length: 30000000\r\n\r\n${begun}`,
    `${head}transfer-encoding: chunked\r\n\r\n${begun.length.toString(16)}\r\n${begun}\r\n`
  ]) {
    const answer = yield* Socket.raw(port, sent)
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain(String.raw`The body has more than 10000 values, in \"messages\".`)
  }
})
