import { describe, expect } from "@effect/vitest"
import { Redacted } from "effect"
import * as SocketClient from "./socket/SocketClient.ts"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

const ORIGIN = "https://app.example.org"
const TOKEN = "a-token-of-some-length"

const preflightOf = (origin: string, wanted = "content-type, authorization") => ({
  method: "OPTIONS",
  headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": wanted }
})

describe("a page of an allowed origin", () => {
  const given = TestServer.start({ allowedOrigins: [ORIGIN], token: Redacted.make(TOKEN) })
  const headers = { origin: ORIGIN, authorization: `Bearer ${TOKEN}` }

  It.effect("gets the answer to a preflight, without a token and without a body", function* () {
    const server = yield* given
    const { headers, status, text } = yield* server.call({ path: "/v1/conversations", ...preflightOf(ORIGIN) })
    expect([status, text]).toEqual([204, ""])
    expect(headers).toMatchObject({
      "access-control-allow-origin": ORIGIN,
      "access-control-allow-methods": "GET, HEAD, POST",
      "access-control-allow-headers": "content-type, authorization",
      "access-control-max-age": "7200",
      vary: "Origin"
    })
    expect(headers).not.toHaveProperty("access-control-allow-credentials")
    // Headers that are no names are not sent back.
    const none = yield* server.call({ path: "/v1/conversations", ...preflightOf(ORIGIN, "a\tb, c d") })
    expect([none.status, none.headers["access-control-allow-headers"]]).toEqual([204, undefined])
  })

  It.effect("may read documents, problems and streams, and opens sockets", function* () {
    const server = yield* given
    const created = yield* server.call({ path: "/v1/conversations", headers, body: {} })
    const { conversationId } = JSON.parse(created.text)
    const path = `/v1/conversations/${conversationId}/events`
    const answers = [
      created,
      yield* server.call({ path: "/nothing", headers }),
      yield* server.call({ path: "/v1/conversations", headers: { origin: ORIGIN } }),
      yield* server.open({ path, headers })
    ]
    expect(answers.map(({ status }) => status)).toEqual([201, 404, 401, 200])
    for (const answer of answers) {
      expect(answer.headers).toMatchObject({ "access-control-allow-origin": ORIGIN, vary: "Origin" })
      expect(answer.headers["access-control-expose-headers"]).toContain("Date, Location")
    }
    const { socket } = yield* SocketClient.open(server.port, { headers })
    expect(socket.readyState).toBe(socket.OPEN)
  })

  It.effect("is the only one: others are refused as before, and get no header", function* () {
    const server = yield* given
    for (const origin of ["https://evil.example", `${ORIGIN}.evil.example`, "http://app.example.org", "null"]) {
      const refused = [
        yield* server.call({ path: "/v1/conversations", ...preflightOf(origin) }),
        yield* server.call({ path: "/v1/conversations", headers: { ...headers, origin }, body: {} })
      ]
      for (const { headers, status } of refused) {
        expect([origin, status]).toEqual([origin, 403])
        expect(headers).not.toHaveProperty("access-control-allow-origin")
        expect(headers["vary"]).toBe("Origin")
      }
    }
  })
})

It.effect("without allowed origins there is no header, and a preflight is refused", function* () {
  const server = yield* TestServer.start()
  const { headers, status } = yield* server.call({ path: "/v1/conversations", ...preflightOf(ORIGIN) })
  expect(status).toBe(403)
  expect(Object.keys(headers).filter((name) => /^access-control|^vary/.test(name))).toEqual([])
})
