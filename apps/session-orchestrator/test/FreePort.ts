/** Finds a free port for programs that need a number. */
import { Effect } from "effect"
import * as net from "node:net"

/** Below the ports that systems assign to connections, which might take a port that is free for a moment only. */
const FIRST_PORT = 12_000
const PORTS = 18_000

export const freePort: Effect.Effect<number> = Effect.suspend(() => {
  const port = FIRST_PORT + Math.floor(Math.random() * PORTS)
  return Effect.flatMap(isFree(port), (free) => (free ? Effect.succeed(port) : freePort))
})

// --- internal

const isFree = (port: number): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const server = net.createServer()
    server.on("error", () => resume(Effect.succeed(false)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(true))))
  })
