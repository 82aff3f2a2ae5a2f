/** One run of a client, in folders of its own, with nothing but loopback. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import * as Clock from "../../tools/src/acceptance/Clock.ts"
import * as Ports from "../../tools/src/acceptance/Ports.ts"
import type { Member } from "./Member.ts"
import * as Starts from "./Starts.ts"

/** A run. */
export interface Run {
  readonly folder: string
  /** How it ended, and what it printed. */
  readonly ended: Promise<Ended>
  /** What Ctrl+C sends. */
  readonly interrupt: () => void
  isInterrupted: boolean
  /** Ends what is left of it, and removes its folders. */
  readonly remove: () => Promise<void>
}

/** How a run ended. */
export interface Ended {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts a client with a base URL, when there is room for its start. `files` are in its working directory. */
export const start = (
  member: Member,
  url: string,
  prompt: string,
  files: Readonly<Record<string, string>> = {}
): Promise<Run> =>
  Starts.begin(
    () => spawned(member, url, prompt, files),
    ({ ended }) => Promise.race([member.endpoint.reached, ended])
  )

// --- internal

const spawned = async (
  { client, login }: Member,
  url: string,
  prompt: string,
  files: Readonly<Record<string, string>>
): Promise<Run> => {
  const place = mkdtempSync(join(tmpdir(), "holdfast-client-"))
  const [home, folder] = [join(place, "home"), join(place, "work")]
  const { command, env = {}, files: own = {} } = client.start({ url, home, folder, port: await Ports.free() }, prompt)
  for (const directory of [home, folder]) mkdirSync(directory)
  write(folder, files)
  write(home, own)
  if (login !== undefined) {
    const [name, content] = login.login.vendor.file(login.login)
    write(home, { [name]: JSON.stringify(content) })
  }
  const [program = "", ...args] = command
  const child = spawn(program, args, {
    cwd: folder,
    env: {
      HOME: home,
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      LANG: "C.UTF-8",
      TERM: "xterm-256color",
      ...Clock.env(),
      ...login?.env,
      ...env
    },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: what it leaves behind ends with it.
    detached: true
  })
  let [stdout, stderr] = ["", ""]
  child.stdout.on("data", (text: Buffer) => (stdout += text))
  child.stderr.on("data", (text: Buffer) => (stderr += text))
  const group = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-(child.pid ?? 0), signal)
    } catch {
      // It has ended.
    }
  }
  const closed = once(child, "close")
  const ended = once(child, "exit").then(async ([exitCode]) => {
    // A process that it left behind would hold its output open; what the client has printed is read to its end.
    group("SIGKILL")
    await closed
    return { exitCode: exitCode as number | null, stdout, stderr }
  })
  const run: Run = {
    folder,
    ended,
    isInterrupted: false,
    interrupt: () => {
      run.isInterrupted = true
      group("SIGINT")
    },
    remove: async () => {
      group("SIGKILL")
      await ended
      rmSync(place, { recursive: true, force: true, maxRetries: 5 })
    }
  }
  return run
}

const write = (folder: string, files: Readonly<Record<string, string>>): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}
