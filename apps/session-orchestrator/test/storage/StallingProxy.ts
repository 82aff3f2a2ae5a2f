/** A TCP proxy that can stall: connections stay open, new ones are accepted, and no byte passes. */
import { Effect } from "effect"
import * as net from "node:net"

export interface StallingProxy {
  readonly port: number
  readonly stall: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

/** Starts a proxy before a port of this machine. */
export const start = (target: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<net.Socket>()
      let isStalled = false
      const join = (from: net.Socket, to: net.Socket): void => {
        sockets.add(from)
        if (isStalled) from.pause()
        from.on("data", (bytes) => void to.write(bytes))
        if (isStalled) from.pause()
        from.on("close", () => {
          sockets.delete(from)
          to.destroy()
        })
        from.on("error", () => {})
      }
      const server = net.createServer((socket) => {
        const upstream = net.connect(target, "127.0.0.1")
        join(socket, upstream)
        join(upstream, socket)
      })
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      if (address === null || typeof address === "string") throw new Error("it listens nowhere")
      const set = (stalled: boolean) =>
        Effect.sync(() => {
          isStalled = stalled
          for (const socket of sockets) {
            if (stalled) socket.pause()
            else socket.resume()
          }
        })
      const close = () => {
        for (const socket of sockets) socket.destroy()
        server.close()
      }
      return { port: address.port, stall: set(true), resume: set(false), close }
    }),
    ({ close }) => Effect.sync(close)
  )
