/** Runs the packed service as a process, in a folder that outlives it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Clock from "./Clock.ts"
import * as Ports from "./Ports.ts"

/** A service. */
export interface Service {
  readonly url: string
  /** Its folder, with its configuration. */
  readonly folder: string
  readonly start: () => Promise<void>
  /** Kills its process without a word. */
  readonly kill: () => Promise<void>
  readonly remove: () => Promise<void>
}

/** Makes a service from a program and its configuration. Its folder is its home, and no variable of this process reaches it but `PATH`, and its clock. */
export const make = async (program: string, config: object, env: NodeJS.ProcessEnv = {}): Promise<Service> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-service-"))
  const port = await Ports.free()
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
        env: { PATH: process.env["PATH"], HOME: folder, ...Clock.env(), ...env },
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
