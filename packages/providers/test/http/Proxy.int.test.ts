/** Tests calls through a proxy, by names that only the proxy can resolve. The service's tests cover TLS in a tunnel. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Dispatcher } from "undici"
import * as Proxy from "../../src/http/Proxy.ts"
import * as Undici from "../../src/http/Undici.ts"
import { post } from "../harness/Posted.ts"
import { proxy } from "../harness/Proxy.ts"
import { pieces, serve } from "../harness/Server.ts"

/** Posts an empty object over connections that close afterwards; gives the status and the body. */
const ask = (dispatcher: Dispatcher, url: string) =>
  Effect.map(post(Undici.make(dispatcher), url), ({ body, status }) => [status, body])

const server = serve(pieces(["an ", "answer"]))

describe("Proxy", () => {
  it.effect("without proxies a server is reached directly", () =>
    Effect.gen(function* () {
      const { received, url } = yield* server
      const dispatcher = yield* Proxy.dispatcher(undefined)
      expect(yield* ask(dispatcher, `${url}/a`)).toEqual([200, "an answer"])
      expect(received.length).toBe(1)
    })
  )

  it.effect("a request to an http server has absolute form, and its whole response arrives", () =>
    Effect.gen(function* () {
      const { received, url } = yield* server
      const { forwarded, tunnels, url: http } = yield* proxy(url)
      const dispatcher = yield* Proxy.dispatcher({ http, https: undefined, exceptions: "" })
      expect(yield* ask(dispatcher, "http://provider.test/a")).toEqual([200, "an answer"])
      expect([forwarded, tunnels, received.length]).toEqual([["http://provider.test/a"], [], 1])
    })
  )

  it.effect("an https server is reached by a tunnel through its own proxy, or through that for http", () =>
    Effect.gen(function* () {
      const first = yield* proxy("http://127.0.0.1:9", 502)
      const second = yield* proxy("http://127.0.0.1:9", 403)
      for (const [proxies, status, asked] of [
        [{ http: first.url, https: second.url, exceptions: "" }, 403, second],
        [{ http: first.url, https: undefined, exceptions: "" }, 502, first],
        [{ http: undefined, https: second.url, exceptions: "" }, 403, second]
      ] as const) {
        const before = asked.tunnels.length
        const cause = yield* Effect.flip(ask(yield* Proxy.dispatcher(proxies), "https://provider.test/a"))
        expect(cause).toMatchObject({
          status,
          message: `The proxy refused the connection (HTTP ${status}).`
        })
        // a rejected tunnel is not requested again.
        expect(asked.tunnels.slice(before)).toEqual(["provider.test:443"])
      }
    })
  )

  it.effect(
    "the error of a proxy that requires a user and a password states that, for a tunnel and for a request",
    () =>
      Effect.gen(function* () {
        const { forwarded, tunnels, url } = yield* proxy("http://127.0.0.1:9", 407)
        const dispatcher = yield* Proxy.dispatcher({ http: url, https: undefined, exceptions: "" })
        for (const scheme of ["http", "https"]) {
          const cause = yield* Effect.flip(ask(dispatcher, `${scheme}://provider.test/a`))
          expect(cause).toMatchObject({
            status: 407,
            message: "The proxy requires a user and a password, or rejected them (HTTP 407)."
          })
        }
        expect([forwarded.length, tunnels.length]).toEqual([1, 1])
      })
  )

  it.effect("a proxy that is not reached is named, without its password and without a status", () =>
    Effect.gen(function* () {
      for (const url of ["http://provider.test/a", "https://provider.test/a"]) {
        const http = "http://user:secret@127.0.0.1:9"
        const dispatcher = yield* Proxy.dispatcher({ http, https: undefined, exceptions: "" })
        const cause = yield* Effect.flip(ask(dispatcher, url))
        const message = "The proxy 127.0.0.1:9 is not reached: connect ECONNREFUSED 127.0.0.1:9"
        expect(cause).toMatchObject({ code: "ECONNREFUSED", message })
        expect(cause).not.toHaveProperty("status")
      }
    })
  )

  it.effect("a server that is not reached, on the machine of its proxy, is not taken for the proxy", () =>
    Effect.gen(function* () {
      const proxies = { http: "http://127.0.0.1:10", https: undefined, exceptions: "127.0.0.1" }
      const cause = yield* Effect.flip(ask(yield* Proxy.dispatcher(proxies), "http://127.0.0.1:9/a"))
      expect(cause).toMatchObject({ code: "ECONNREFUSED", message: "connect ECONNREFUSED 127.0.0.1:9" })
    })
  )

  it.effect("an exception is reached directly, and so is a server without a proxy", () =>
    Effect.gen(function* () {
      const { received, url } = yield* server
      const refusing = yield* proxy(url, 403)
      for (const proxies of [
        { http: refusing.url, https: refusing.url, exceptions: "127.0.0.1" },
        { http: undefined, https: refusing.url, exceptions: "" }
      ]) {
        expect(yield* ask(yield* Proxy.dispatcher(proxies), `${url}/a`)).toEqual([200, "an answer"])
      }
      expect([refusing.forwarded, received.length]).toEqual([[], 2])
    })
  )

  it.effect("connections close with the scope", () =>
    Effect.gen(function* () {
      const { arrived, closed, url } = yield* serve((response) => response.write("never ends"))
      for (const [n, proxies] of [
        [1, undefined],
        [2, { http: undefined, https: undefined, exceptions: "" }]
      ] as const) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Effect.forkDetach(Effect.exit(ask(yield* Proxy.dispatcher(proxies), `${url}/a`)))
            yield* arrived(n)
          })
        )
        yield* closed(n)
      }
    })
  )
})
