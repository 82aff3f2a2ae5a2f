/** Tests a socket that stays open while the service restarts, as systemd keeps it: here a shell has it, and starts the service anew. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { createServer, type AddressInfo, type ListenOptions, type Server } from "node:net"
import { join } from "node:path"
import * as Process from "../service/Process.ts"
import { MAIN } from "../service/Program.ts"
import * as It from "../It.ts"

/** Names the process that it becomes, as the variable has to. */
const LIFE = 'echo $$ > "pid$1" && LISTEN_PID=$$ LISTEN_FDS="${SOCKETS:-1}" exec "$0" "$2" serve'

/** A socket in a shell that runs the service, and once more when it has ended. */
const handed = Effect.fnUntraced(function* (listening: ListenOptions, sockets = 1) {
  const directory = yield* Process.directory
  Process.writeConfig(directory, { model: "simulated/steady", server: { port: 1 } })
  const socket = createServer()
  yield* Effect.callback<void>((resume) => void socket.listen(listening, () => resume(Effect.void)))
  const { port } = socket.address() as AddressInfo
  const lives = `sh -c '${LIFE}' "$0" 1 "$1"; sh -c '${LIFE}' "$0" 2 "$1"`
  const shell = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn("sh", ["-c", lives, process.execPath, MAIN], {
        cwd: directory,
        env: { HOME: directory, PATH: process.env["PATH"], SOCKETS: String(sockets) },
        stdio: ["ignore", "ignore", "pipe", descriptorOf(socket)],
        detached: true
      })
    ),
    (shell) => Effect.sync(() => shell.exitCode ?? process.kill(-(shell.pid ?? 0), "SIGKILL"))
  )
  let stderr = ""
  shell.stderr?.on("data", (text: Buffer) => (stderr += text.toString()))
  // From here on the shell alone has it.
  yield* Effect.callback<void>((resume) => void socket.close(() => resume(Effect.void)))
  const pidOf = (life: number): number | undefined => {
    const file = join(directory, `pid${life}`)
    return existsSync(file) ? Number(readFileSync(file, "utf8")) || undefined : undefined
  }
  return { pidOf, stderr: () => stderr, url: `http://127.0.0.1:${port}` }
})

const descriptorOf = (server: Server): number => (server as unknown as { _handle: { fd: number } })._handle.fd

const healthz = (url: string) => Effect.promise(() => fetch(`${url}/healthz`).then(({ status }) => status))

describe.concurrent("a socket that was handed over", () => {
  It.live("holds connections while the service restarts after a kill: none is refused", function* () {
    const { pidOf, url } = yield* handed({ host: "127.0.0.1", port: 0 })
    expect(yield* healthz(url)).toBe(200)
    process.kill(pidOf(1) ?? 0, "SIGKILL")
    // From its death to the next one's start, and on.
    const statuses = yield* Effect.forEach(Array.from({ length: 9 }), () => healthz(url), { concurrency: "unbounded" })
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(pidOf(2)).toBeGreaterThan(0)
  })

  const REFUSALS = [
    ["without a token where others can reach it", "0.0.0.0", 1, "Refused to listen on 0.0.0.0:"],
    ["if it is one of several", "127.0.0.1", 2, 'LISTEN_FDS is "2", and Holdfast takes one socket.']
  ] as const
  for (const [when, host, sockets, words] of REFUSALS) {
    It.live(`is refused ${when}`, function* () {
      const { stderr } = yield* handed({ host, port: 0 }, sockets)
      yield* Process.eventually("its refusal", Effect.sync(stderr), (text) => text.includes(words))
    })
  }

  It.live("is refused if it is a Unix socket", function* () {
    const { stderr } = yield* handed({ path: join(yield* Process.directory, "socket") })
    const words = "Cannot listen on 127.0.0.1:1: the socket that was handed over is none of TCP."
    yield* Process.eventually("its refusal", Effect.sync(stderr), (text) => text.includes(words))
  })
})
