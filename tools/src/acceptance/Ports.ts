/**
 * Finds free ports for programs that need a number before they listen.
 *
 * Ports.P1. A port is below those that systems assign to connections and to `listen(0)`: one of these could take it before its program does.
 * Ports.P2. A process gets each port once, and the workers of one run of tests get different ports.
 */
import { once } from "node:events"
import { createServer } from "node:net"

const FIRST = 12_000

/** The ports of one worker. */
const PORTS = 3_000
const WORKERS = 6

const own = FIRST + (Number(process.env["VITEST_POOL_ID"] ?? 0) % WORKERS) * PORTS
let next = Math.floor(Math.random() * PORTS)

/** A port on which no program listens. Fails if there is none. */
export const free = async (): Promise<number> => {
  for (let tried = 0; tried < PORTS; tried++) {
    const port = own + (next++ % PORTS) // Ports.P2
    if (await isFree(port)) return port
  }
  throw new Error(`No port from ${own} to ${own + PORTS - 1} is free: programs listen on all of them.`)
}

// --- internal

/** Whether a program can listen on a port; any other reason than a taken port is an error. */
const isFree = async (port: number): Promise<boolean> => {
  const server = createServer()
  try {
    server.listen(port, "127.0.0.1")
    await once(server, "listening")
  } catch (error) {
    if (error instanceof Error && "code" in error && REFUSED.has(String(error.code))) return false
    throw error
  }
  server.close()
  await once(server, "close")
  return true
}

/** Refusals of a port that another program listens on, and of a port that the system reserves. */
const REFUSED: ReadonlySet<string> = new Set(["EADDRINUSE", "EACCES"])
