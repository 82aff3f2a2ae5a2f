/** What the tests of the frameworks share: the simulated provider on a socket, one that never answers, and a policy. */
import * as SimulatedServer from "@holdfast/simulated/server"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** Waits of no length, and a limit on silence that no busy machine reaches. */
export const AT_ONCE = {
  schedule: { type: "steps", delays: Array.from({ length: 10 }, () => "0 millis"), tail: "1 millis" },
  maxRetries: 6,
  requestTimeout: { firstContent: "5 seconds", idle: "5 seconds" }
} as const

/** A provider that follows a script of the simulated provider, for as long as `use` runs. */
export const withProvider = async (
  script: string,
  use: (url: string, requests: () => ReadonlyArray<string>) => Promise<void>
): Promise<void> => {
  const scope = Scope.makeUnsafe()
  const server = await Effect.runPromise(Scope.provide(scope)(SimulatedServer.start({ script: `${script}+instant` })))
  try {
    await use(`${server.url}/v1`, () => server.requests().map(({ body }) => body))
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/**
 * A provider that never answers. `asked` resolves at the first request, after which `isAsked` is true, and `closed` when its connection is closed by
 * the client.
 */
export const silentProvider = async () => {
  let isAsked = false
  const asked = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    request.resume()
    isAsked = true
    asked.resolve()
    response.once("close", () => closed.resolve())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: asked.promise,
    isAsked: () => isAsked,
    closed: closed.promise,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
