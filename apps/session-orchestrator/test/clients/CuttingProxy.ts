/**
 * A proxy that cuts connections after so many bytes, wherever that is: in a head, a frame or a character.
 *
 * CuttingProxy.P1. Each new connection takes the next cut; when there is none left, connections are passed on whole.
 */
import { Effect } from "effect"
import { once } from "node:events"
import * as Net from "node:net"

/** When a connection is cut. */
export interface Cut {
  /** Bytes of the service that reach the client. */
  readonly down: number
  /** Bytes of the client that reach the service. */
  readonly up: number
  /** As a machine that is gone does it, or as a proxy that closes in good order. */
  readonly how: "reset" | "end"
}

/** Starts the proxy in front of a port. `cuts` are taken from their beginning. */
export const start = (port: number, cuts: Array<Cut>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Net.Socket>()
      let made = 0
      const server = Net.createServer((client) => {
        const cut = cuts.shift()
        const service = Net.connect(port, "127.0.0.1")
        const both = [client, service]
        for (const socket of both) {
          sockets.add(socket)
          socket.setNoDelay(true)
          socket.on("error", () => {})
          socket.on("close", () => {
            sockets.delete(socket)
            for (const other of both) other.destroy()
          })
        }
        const over = (how: Cut["how"]) => {
          made++
          if (how === "reset") client.resetAndDestroy()
          else client.end(() => client.destroy())
          service.destroy()
        }
        pass(service, client, cut?.down ?? Infinity, () => over(cut?.how ?? "end"))
        pass(client, service, cut?.up ?? Infinity, () => over(cut?.how ?? "end"))
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const { port: own } = server.address() as Net.AddressInfo
      const close = () => {
        for (const socket of sockets) socket.destroy()
        return new Promise<void>((resolve) => void server.close(() => resolve()))
      }
      return { port: own, made: () => made, close }
    }),
    ({ close }) => Effect.promise(close)
  )

// --- internal

/** Passes so many bytes on, and reports that they are used up. */
const pass = (from: Net.Socket, to: Net.Socket, most: number, over: () => void): void => {
  let left = most
  from.on("data", (bytes) => {
    if (left <= 0) return
    const part = bytes.subarray(0, left)
    left -= part.length
    const isFree = to.write(part, left <= 0 ? over : undefined)
    if (isFree) return
    from.pause()
    to.once("drain", () => from.resume())
  })
}
