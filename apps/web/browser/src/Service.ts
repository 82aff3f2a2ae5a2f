/** The packed service as a process: the bundle with the built page beside it, as `@holdfast/server` has it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundle } from "../../../../tools/src/bundleProgram.ts"
import * as PageBuild from "../../tools/PageBuild.ts"

/** Bundles the program and its page into a folder; returns the program. */
export const packed = async (folder: string): Promise<string> => {
  await bundle(folder)
  await PageBuild.build(join(folder, "page"))
  return join(folder, "main.js")
}

/** A service with a folder of its own, which outlives its process. */
export interface Service {
  readonly url: string
  /** Its folder, with its configuration. */
  readonly folder: string
  readonly start: () => Promise<void>
  /** Kills its process without a word. */
  readonly kill: () => Promise<void>
  readonly remove: () => Promise<void>
}

/** Makes a service from a configuration. */
export const make = async (program: string, config: object, env: NodeJS.ProcessEnv = {}): Promise<Service> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-browser-"))
  const port = await freePort()
  writeFileSync(join(folder, "holdfast.config.json"), JSON.stringify(config))
  let child: ChildProcess | undefined
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
  }
  return {
    folder,
    url: `http://127.0.0.1:${port}`,
    start: async () => {
      const started = spawn(process.execPath, [program, "serve", "--port", String(port)], {
        cwd: folder,
        env: { ...process.env, ...env },
        stdio: ["ignore", "pipe", "pipe"]
      })
      child = started
      let printed = ""
      started.stderr?.on("data", (text: Buffer) => (printed += text))
      await new Promise<void>((resolve, reject) => {
        started.stdout?.on("data", (text: Buffer) => {
          printed += text
          if (printed.includes("listens on")) resolve()
        })
        started.once("exit", () => reject(new Error(`The service ended at its start:\n${printed}`)))
      })
    },
    kill,
    remove: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

// --- internal

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}
