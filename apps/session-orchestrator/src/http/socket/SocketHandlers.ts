/** Handles the call that opens a WebSocket: refuses what is none, upgrades the connection, and runs its session. */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Quote } from "@holdfast/wire"
import { Api, Problem } from "@holdfast/wire/api"
import { SocketMessages } from "@holdfast/wire/rpc"
import { Effect, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CloseEvent } from "effect/socket/Socket"
import { budget, GOING_DOWN } from "../body/LiveResponse.ts"
import * as CommandContext from "../CommandContext.ts"
import * as SocketCommands from "./SocketCommands.ts"
import { Outlet } from "../../rpc/Outlet.ts"
import * as SocketSession from "./SocketSession.ts"

/** The handlers of the `socket` group. */
export const layer = HttpApiBuilder.group(
  Api.Api,
  "socket",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* SocketCommands.services
    return handlers.handleAll({
      socket: ({ request }) =>
        Effect.gen(function* () {
          const refusal = refusalOf(request)
          if (refusal !== undefined) return yield* Effect.fail(refusal)
          const { socket } = NodeHttpServerRequest.toIncomingMessage(request)
          const destroyed = Effect.sync(() => void socket.destroy())
          const upgraded = yield* Effect.orDie(request.upgrade)
          yield* Effect.gen(function* () {
            const { pull } = yield* upgraded.reader
            const writer = yield* upgraded.writer
            const isGoingDown = yield* SocketSession.run(services, {
              input: Stream.fromPull(Effect.succeed(pull)),
              output: new Outlet(socket, { budget, stalled: destroyed }),
              received: () => (socket.isPaused() ? undefined : socket.bytesRead),
              destroyed,
              origin: `WebSocket from ${CommandContext.addressOf(request)}`
            })
            if (isGoingDown) yield* writer.write(new CloseEvent(SERVICE_RESTART, GOING_DOWN.message))
          }).pipe(Effect.scoped, Effect.ignore)
          // The connection is upgraded; this response is for the metrics.
          return HttpServerResponse.empty({ status: 101 })
        })
    })
  })
)

// --- internal

/** The code of a close that asks to reconnect (IANA's registry of WebSocket close codes). */
const SERVICE_RESTART = 1012

const refusalOf = ({
  headers
}: HttpServerRequest.HttpServerRequest): Problem.UpgradeRequired | Problem.InvalidRequest | undefined => {
  const {
    "sec-websocket-key": key,
    "sec-websocket-protocol": offered,
    "sec-websocket-version": version,
    upgrade
  } = headers
  if (upgrade?.toLowerCase() !== "websocket" || !/(^|,)\s*upgrade\s*(,|$)/i.test(headers["connection"] ?? "")) {
    return new Problem.UpgradeRequired({ detail: "Connect with a WebSocket: `ws://` or `wss://` and this path." })
  }
  if (version !== "13" || key === undefined) {
    const found = version === undefined ? "none" : Quote.of(version)
    return new Problem.InvalidRequest({
      detail: `The handshake has the version ${found}. Expected Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key.`
    })
  }
  const names = offered?.split(",").map((name) => name.trim()) ?? []
  if (offered === undefined || names.includes(SocketMessages.SUBPROTOCOL)) return undefined
  return new Problem.InvalidRequest({
    detail: `None of the offered subprotocols is known. Offer ${SocketMessages.SUBPROTOCOL}, beside the token where there is one.`
  })
}
