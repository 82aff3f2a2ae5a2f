/** One life of a program on a runtime: what it prints, until it is killed. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { DEADLINE_MS } from "./Deadline.ts"

/** A queue of lines for one reader. */
export class Lines {
  private readonly lines: Array<string> = []
  private isEnded = false
  private wake = () => {}

  push(line: string): void {
    this.lines.push(line)
    this.wake()
  }

  end(): void {
    this.isEnded = true
    this.wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    for (;;) {
      const line = this.lines.shift()
      if (line !== undefined) yield line
      else if (this.isEnded) return
      else await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }
}

/** A program that runs. Its lines end with it. */
export interface Life {
  readonly lines: AsyncIterable<string>
  /** `kill -9`, of all of its processes. */
  readonly kill: () => Promise<void>
}

/** Starts a program in a process group of its own, and kills it after the deadline; `use` gets the process at once. */
export const begin = (
  program: string,
  args: ReadonlyArray<string>,
  options: SpawnOptions,
  use: (child: ChildProcess, lines: Lines) => void = () => {}
): Life => {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], detached: true, ...options })
  const lines = new Lines()
  const exit = once(child, "exit")
  const kill = () => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
    try {
      process.kill(-child.pid, "SIGKILL")
    } catch {
      // It has ended meanwhile.
    }
  }
  const deadline = setTimeout(kill, DEADLINE_MS)
  if (child.stdout !== null) createInterface(child.stdout).on("line", (line) => lines.push(line))
  child.on("close", () => {
    clearTimeout(deadline)
    lines.end()
  })
  use(child, lines)
  return {
    lines,
    kill: async () => {
      kill()
      await exit
    }
  }
}
