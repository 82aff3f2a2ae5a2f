/** The service as a process, with a folder of its own that outlives it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Ports from "./Ports.ts"

/** A turn, in the list of the service. */
export interface Turn {
  readonly turnId: string
  readonly conversationId: string
  readonly status: string
  readonly attempts: number
  readonly model: string
  readonly wait?: { readonly retryAt: number }
}

/** A service. */
export interface Service {
  readonly url: string
  readonly start: () => Promise<void>
  /** Kills its process without a word. */
  readonly kill: () => Promise<void>
  /** Its turns whose model is of this provider. */
  readonly turnsOf: (provider: string) => Promise<ReadonlyArray<Turn>>
  /** Waits until its only turn of a provider is as asked. */
  readonly until: (provider: string, holds: (turn: Turn) => boolean) => Promise<Turn>
  /** Ends the wait of a turn. */
  readonly retryNow: (turn: Turn) => Promise<void>
  readonly remove: () => Promise<void>
}

/** Makes a service from a configuration. */
export const make = async (program: string, config: object): Promise<Service> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-clients-service-"))
  const port = await Ports.free()
  const url = `http://127.0.0.1:${port}`
  writeFileSync(join(folder, "holdfast.config.json"), JSON.stringify(config))
  let child: ChildProcess | undefined
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
  }
  const turnsOf = async (provider: string): Promise<ReadonlyArray<Turn>> => {
    // Calls with a key of the client's own are listed as such.
    const response = await fetch(`${url}/v1/turns?model=${encodeURIComponent(`${provider}~client`)}`)
    const { turns } = (await response.json()) as { readonly turns: ReadonlyArray<Turn> }
    return turns
  }
  return {
    url,
    kill,
    turnsOf,
    start: async () => {
      const started = spawn(process.execPath, [program, "serve", "--port", String(port)], {
        cwd: folder,
        env: { PATH: process.env["PATH"], HOME: folder },
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
    until: async (provider, holds) => {
      while (true) {
        const [turn] = await turnsOf(provider)
        if (turn !== undefined && holds(turn)) return turn
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    retryNow: async ({ conversationId }) => {
      const response = await fetch(`${url}/v1/conversations/${conversationId}/retry-now`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}"
      })
      await response.arrayBuffer()
    },
    remove: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
