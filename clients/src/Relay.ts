/**
 * A socket that stays open while the service behind it restarts, as with socket activation.
 *
 * When the service dies, its connections end. A connection that is made while there is no service waits for the next service: some clients give up
 * at a closed port, and a test is not about that.
 */
import { once } from "node:events"
import { connect, createServer, type AddressInfo, type Socket } from "node:net"

/** A relay. */
export interface Relay {
  readonly url: string
  /** A client has received the head of an answer that is not there yet. */
  readonly held: Promise<void>
  /** Connections wait from now on, until `open`. */
  readonly hold: () => void
  readonly open: () => void
  readonly close: () => void
}

/** Starts a relay to a port. */
export const start = async (port: number): Promise<Relay> => {
  const waiting = new Set<Socket>()
  const held = Promise.withResolvers<void>()
  let isOpen = true
  const join = (client: Socket): void => {
    const service = connect(port, "127.0.0.1")
    client.pipe(service)
    service.pipe(client)
    // A call that waits has a name, and an answer that came at once has none.
    service.on("data", (bytes: Buffer) => {
      if (bytes.includes("x-holdfast-call")) held.resolve()
    })
    client.on("close", () => service.destroy())
    service.on("close", () => client.destroy())
    service.on("error", () => client.destroy())
  }
  const server = createServer((client) => {
    client.on("error", () => client.destroy())
    if (isOpen) return join(client)
    waiting.add(client)
    client.on("close", () => waiting.delete(client))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held: held.promise,
    hold: () => {
      isOpen = false
    },
    open: () => {
      isOpen = true
      for (const client of waiting) join(client)
      waiting.clear()
    },
    close: () => void server.close()
  }
}
