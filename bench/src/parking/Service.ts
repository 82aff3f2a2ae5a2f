/** The service as a process of its own on a database of parked turns; its log has the moment at which all are taken up. */
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import * as Held from "../Held.ts"
import * as Processes from "../Processes.ts"
import type { Tree } from "../Trees.ts"

/** What a configuration adds. */
export interface Settings {
  readonly provider?: object
  readonly retry?: object
  readonly models?: object
}

/** Starts it on a database, with a provider's port, and waits until it listens and has taken up so many turns. */
export const start = async (
  { children }: Processes.Place,
  tree: Tree,
  {
    database,
    provider,
    settings = {},
    turns
  }: { readonly database: string; readonly provider: number; readonly turns: number; readonly settings?: Settings }
) => {
  const begun = performance.now()
  const profile = process.env["HOLDFAST_BENCH_PROFILE"]
  const folder = dirname(dirname(database))
  writeFileSync(join(folder, "holdfast.config.json"), JSON.stringify(configFor(provider, settings)))
  const child = spawn(
    process.execPath,
    [
      ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`]),
      Processes.NURSERY,
      ...Held.NODE_OPTIONS,
      join(tree.folder, "apps/session-orchestrator/src/main.ts"),
      "serve"
    ],
    { cwd: folder, stdio: ["ignore", "pipe", "pipe"] }
  )
  children.push(child)
  const out = firstOf(createInterface(child.stdout), /127\.0\.0\.1:(\d+)$/)
  const takenUp = firstOf(createInterface(child.stderr), /Took up \d+ unfinished turn\(s\) in (\d+) ms/)
  const port = Number(await out)
  const takingUpMs = turns === 0 ? 0 : Number(await takenUp)
  const armedMs = performance.now() - begun
  return {
    child,
    port,
    /** From the start of the process to the last turn armed. */
    armedMs,
    /** From the first question to the database to the last turn armed, by the service's own clock. */
    takingUpMs,
    memory: async (): Promise<number> => {
      await Processes.pause(SETTLE_MS)
      return Held.bytes(child)
    }
  }
}

/** Every turn calls, and sleeps for the whole of its wait. */
export const configFor = (provider: number, settings: Settings) => ({
  server: { port: 0 },
  model: "bench/529x*",
  providers: {
    bench: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${provider}/v1`, ...settings.provider }
  },
  gate: { enabled: false },
  retry: { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" }, budget: "Infinity", ...settings.retry },
  models: settings.models ?? {}
})

// --- internal

/** What a start leaves to be done is done by then. */
const SETTLE_MS = 2_000

/** What the first line that matches has in its first group. */
const firstOf = (lines: ReturnType<typeof createInterface>, pattern: RegExp): Promise<string> =>
  new Promise((resolve) => {
    lines.on("line", (line) => {
      const found = pattern.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
  })
