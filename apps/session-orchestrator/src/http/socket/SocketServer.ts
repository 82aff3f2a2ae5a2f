/** Settings of the WebSocket server: subprotocol, limits, and the reasons of its close codes. */
import { WebSocket } from "@effect/platform-node/NodeWS"
import { SocketMessages } from "@holdfast/wire/rpc"
import { Duration } from "effect"
import type { IncomingMessage } from "node:http"
import * as Access from "../Access.ts"
import { FAREWELL_LIMIT } from "../body/LiveResponse.ts"

/** Whether a request is to be upgraded. Any other request with an `Upgrade` header is answered as if it had none (RFC 9110, section 7.8). */
export const isUpgrade = ({
  headers,
  method = "",
  url = ""
}: Pick<IncomingMessage, "headers" | "method" | "url">): boolean =>
  headers.upgrade?.toLowerCase() === "websocket" && Access.isSocket({ method, url })

/** The options of the server. A message may be as long as the body of a prompt. */
export const options = (maxBodyBytes: number) => ({
  maxPayload: maxBodyBytes,
  closeTimeout: Duration.toMillis(FAREWELL_LIMIT),
  // The token is offered as a subprotocol too, and is never sent back.
  handleProtocols: (offered: Set<string>) => offered.has(SocketMessages.SUBPROTOCOL) && SocketMessages.SUBPROTOCOL,
  WebSocket: class extends WebSocket {
    override close(code?: number, reason?: string | Buffer): void {
      super.close(code, reason ?? (code === undefined ? undefined : reasonOf(code, maxBodyBytes)))
    }
  }
})

// --- internal

const reasonOf = (code: number, maxBodyBytes: number): string | undefined => {
  switch (code) {
    case 1002:
      return "A frame is not valid (RFC 6455)."
    case 1007:
      return "A message is not UTF-8."
    case 1009:
      return `A message may have ${maxBodyBytes} bytes at most (server.maxBodyBytes).`
    default:
      return undefined
  }
}
