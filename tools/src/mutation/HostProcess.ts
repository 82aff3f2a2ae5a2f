/** Starts `host.ts`, sends it requests one at a time, and kills it with all that its tests have started. */
import { type ChildProcess, fork } from "node:child_process"
import type { Reply, Request } from "./Protocol.ts"

type Answer = Exclude<Reply, { readonly type: "began" }>

/** The host was killed because a test file took longer than allowed. */
export const late = Symbol("late")

export class HostProcess {
  private child: ChildProcess | undefined

  /**
   * Sends a request and waits for its answer.
   *
   * **Details**
   *
   * `limitFor` gives the time limit of a test file in milliseconds, from its beginning. A file that takes longer ends the host, and
   * the answer is `late`; so is a host that ended by itself, which only a change of the sources brings about.
   */
  async ask(request: Request, limitFor: (test: string) => number = () => Infinity): Promise<Answer | typeof late> {
    const child = (this.child ??= start())
    const { promise, resolve } = Promise.withResolvers<Answer | typeof late>()
    let timer: NodeJS.Timeout | undefined
    const arm = (limit: number) => {
      clearTimeout(timer)
      if (Number.isFinite(limit)) timer = setTimeout(() => resolve(late), limit)
    }
    const onMessage = (reply: Reply) => {
      if (reply.type === "began") arm(limitFor(reply.test))
      else resolve(reply)
    }
    const onExit = () => resolve(late)
    child.on("message", onMessage)
    child.on("exit", onExit)
    child.send(request)
    const answer = await promise
    clearTimeout(timer)
    child.off("message", onMessage)
    child.off("exit", onExit)
    if (answer === late) this.kill()
    else if (answer.type === "broken") throw new Error(`The tests could not be run: ${answer.message}`)
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
