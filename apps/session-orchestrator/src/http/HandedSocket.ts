/**
 * The socket that another process keeps open for the service, as systemd does (`sd_listen_fds`): connections wait in it while the service restarts.
 */
import type { ListenOptions, Server } from "node:net"

/** The first descriptor after those of every process. */
const DESCRIPTOR = 3

/** How to listen: on the socket that was handed to this process, or else on the host and the port. A text: why it cannot. */
export const listening = (
  host: string,
  port: number,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  pid = process.pid
): (ListenOptions & { readonly fd?: number }) | string => {
  const sockets = environment["LISTEN_PID"] === String(pid) ? environment["LISTEN_FDS"] : undefined
  if (sockets === undefined || sockets === "0") return { host, port }
  if (sockets === "1") return { fd: DESCRIPTOR }
  return `Cannot listen: LISTEN_FDS is ${JSON.stringify(sockets)}, and Holdfast takes one socket. Give holdfast.socket one ListenStream.`
}

/** Has a server fail to listen on a socket without a port: Node does not know the address of a Unix socket that it was given. */
export const withPort = (server: Server): void =>
  void server.once("listening", () => {
    if (server.address() === null) server.emit("error", new Error(NO_PORT))
  })

// --- internal

const NO_PORT = "the socket that was handed over is none of TCP. Give holdfast.socket a ListenStream with a port."
