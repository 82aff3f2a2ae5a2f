/** Starts `host.ts`, sends it requests one at a time, and kills it with all that its tests have started. */
import { type ChildProcess, fork } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { bundle, folder } from "../bundleProgram.ts"
import type { Reply, Request } from "./Protocol.ts"

type Answer = Exclude<Reply, { readonly type: "began" }>

/** The host was killed because a test file took longer than allowed, or it ended by itself. */
export interface Late {
  readonly type: "late"
  /** The test file that ran; `undefined`: none had begun. */
  readonly test: string | undefined
}

/** Where the host with this id keeps the program that its tests start. */
export const programOf = (pid: number): string => `${folder}-${pid}`

/** Makes that program, over sources that are replaced. */
export const makeProgram = async (
  pid: number,
  load: (path: string) => string | undefined,
  banner = ""
): Promise<void> => {
  await bundle(programOf(pid), { load, banner })
  writeFileSync(join(programOf(pid), "package.json"), '{"type":"module"}')
}

/** A process that runs tests against mutants. */
export class HostProcess {
  private child: ChildProcess | undefined

  /**
   * Sends a request and waits for its answer.
   *
   * **Details**
   *
   * `limitFor` gives the time limit of a test file in milliseconds, from its beginning, and that of the time before the first. A file that takes longer ends the host, and
   * the answer is `Late`; so is a host that ended by itself, which only a change of the sources brings about.
   */
  async ask(request: Request, limitFor: (test: string | undefined) => number = () => Infinity): Promise<Answer | Late> {
    const child = (this.child ??= start())
    // Here, because a bundle has no end in a process with vitest that has run.
    if (request.type === "run" && request.isProgram && child.pid !== undefined)
      await makeProgram(child.pid, (path) => (path === request.path ? request.text : undefined))
    const { promise, resolve } = Promise.withResolvers<Answer | Late>()
    let timer: NodeJS.Timeout | undefined
    let test: string | undefined
    const giveUp = () => resolve({ type: "late", test })
    const arm = (limit: number) => {
      clearTimeout(timer)
      if (Number.isFinite(limit)) timer = setTimeout(giveUp, limit)
    }
    const onMessage = (reply: Reply) => {
      if (reply.type !== "began") return resolve(reply)
      test = reply.test
      arm(limitFor(test))
    }
    child.on("message", onMessage)
    child.on("exit", giveUp)
    arm(limitFor(undefined))
    child.send(request)
    const answer = await promise
    clearTimeout(timer)
    child.off("message", onMessage)
    child.off("exit", giveUp)
    if (answer.type === "late") this.kill()
    if (answer.type === "broken") throw new Error(`The tests could not be run: ${answer.message}`)
    return answer
  }

  kill(): void {
    const pid = this.child?.pid
    this.child = undefined
    if (pid === undefined) return
    try {
      process.kill(-pid, "SIGKILL")
    } catch {
      // It has ended already.
    }
    rmSync(programOf(pid), { recursive: true, force: true, maxRetries: 5 })
  }
}

// --- internal

const start = (): ChildProcess =>
  fork(new URL("./host.ts", import.meta.url), {
    cwd: new URL("../../../", import.meta.url).pathname,
    detached: true,
    serialization: "advanced",
    stdio: ["ignore", "ignore", "inherit", "ipc"]
  })
