/** The service as a process of its own, driven by its command line and listened to by its log. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"

const MAIN = join(import.meta.dirname, "../../../apps/session-orchestrator/src/main.ts")

/**
 * Loaded into the service: on SIGUSR2 it prints the bytes that the service holds after a collection. The resident set is no measure: it
 * differs by megabytes from start to start, more than ten thousand parked turns hold.
 */
const PROBE = `process.on("SIGUSR2", () => {
  for (let i = 0; i < 3; i++) gc()
  const { heapUsed, external } = process.memoryUsage()
  process.stderr.write("\\nHELD " + (heapUsed + external) + "\\n")
})`

/** Starts it in a folder with a configuration, and waits until it listens and has taken up what is there. */
export const start = async (folder: string, turns: number) => {
  const begun = performance.now()
  const profile = process.env["HOLDFAST_BENCH_PROFILE"]
  const child = spawn(
    process.execPath,
    [
      ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`]),
      "--expose-gc",
      "--import",
      `data:text/javascript,${encodeURIComponent(PROBE)}`,
      MAIN,
      "serve"
    ],
    { cwd: folder, stdio: ["ignore", "pipe", "pipe"] }
  )
  const out = linesOf(createInterface(child.stdout))
  const log = linesOf(createInterface(child.stderr))
  const listening = out.first(/127\.0\.0\.1:(\d+)$/)
  const takenUp = log.first(/Took up \d+ unfinished turn\(s\) in (\d+) ms/)
  await listening
  const takingUpMs = turns === 0 ? 0 : Number(await takenUp)
  const armedMs = performance.now() - begun
  return {
    /** From the start of the process to the last turn armed. */
    armedMs,
    /** From the first question to the database to the last turn armed, by the service's own clock. */
    takingUpMs,
    memory: async (): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
      const held = log.first(/^HELD (\d+)$/)
      child.kill("SIGUSR2")
      return Number(await held)
    },
    stop: () =>
      new Promise<void>((resolve) => {
        child.on("exit", () => resolve())
        child.kill("SIGTERM")
      })
  }
}

// --- internal

/** What a start leaves to be done is done by then. */
const SETTLE_MS = 2_000

/** The output of a process, and waits for a line of it. */
const linesOf = (lines: ReturnType<typeof createInterface>) => {
  const waiting = new Set<(line: string) => void>()
  lines.on("line", (line) => {
    for (const hear of waiting) hear(line)
  })
  return {
    /** What the first line from now on that matches has in its first group. */
    first: (pattern: RegExp) =>
      new Promise<string>((resolve) => {
        const hear = (line: string) => {
          const found = pattern.exec(line)?.[1]
          if (found === undefined) return
          waiting.delete(hear)
          resolve(found)
        }
        waiting.add(hear)
      })
  }
}
