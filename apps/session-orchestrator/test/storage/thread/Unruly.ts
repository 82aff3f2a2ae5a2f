/** A database's threads whose disk halts when a test says so, and that can be killed. */
import { Effect } from "effect"
import { Worker } from "node:worker_threads"
import * as Trouble from "./Trouble.ts"

export class Unruly {
  /** Every thread that was started, the newest last. */
  readonly threads: Array<Worker> = []
  private readonly word = new Int32Array(new SharedArrayBuffer(4))

  readonly start = (): Worker => {
    const thread = new Worker(new URL("UnrulyThread.ts", import.meta.url), { workerData: this.word.buffer })
    this.threads.push(thread)
    return thread
  }

  /** What happens next. */
  expect(trouble: number): void {
    Atomics.store(this.word, 0, trouble)
  }

  /** Waits until the thread has halted. */
  readonly halted: Effect.Effect<void> = Effect.suspend(() => {
    const waiting = Atomics.load(this.word, 0)
    if (waiting === Trouble.HALTED) return Effect.void
    const change = Atomics.waitAsync(this.word, 0, waiting, DEADLINE_MS)
    return Effect.andThen(
      Effect.promise(async () => change.value),
      Effect.suspend(() =>
        Atomics.load(this.word, 0) === Trouble.HALTED ? Effect.void : Effect.die(new Error("The thread has not halted"))
      )
    )
  })

  /** Lets the thread go on. */
  release(): void {
    Atomics.store(this.word, 0, Trouble.NONE)
    Atomics.notify(this.word, 0)
  }

  /** Ends the newest thread in the middle of what it does. */
  readonly kill = Effect.promise(async () => {
    const code = await this.threads.at(-1)?.terminate()
    this.expect(Trouble.NONE)
    return code
  })
}

// --- internal

/** A thread loads its modules first, on a machine that may have other work. */
const DEADLINE_MS = 10_000
