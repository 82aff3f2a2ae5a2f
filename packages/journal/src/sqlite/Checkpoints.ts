/**
 * Moves SQLite's write-ahead log into the database, in a thread of its own.
 *
 * By default SQLite does this in the commit that makes the log too long: 64 MiB would stop all turns for some hundred milliseconds.
 *
 * Checkpoints.C1. The thread starts with the first checkpoint: a service that writes little has none.
 * Checkpoints.C2. One checkpoint at a time. Writes during a checkpoint count towards the next.
 * Checkpoints.C3. Writers that are further ahead than `AHEAD_BYTES` wait for the thread, and delay no other code: SQLite restarts the log
 *     only when a checkpoint has moved all of it.
 * Checkpoints.C4. When the thread could not be started or has ended, no writer waits, and SQLite makes all checkpoints.
 */
import { Worker } from "node:worker_threads"

/** Bytes after which a checkpoint is worth its two syncs. */
export const WORTH_BYTES = 16 * 1024 * 1024

/** Bytes that may be written during a checkpoint before writers wait. Together with the bytes before it they stay below SQLite's limit. */
export const AHEAD_BYTES = 16 * 1024 * 1024

/** The fewest bytes that a statement writes: a page. */
const PER_STATEMENT = 4 * 1024

/** The part of a `Worker` that `Checkpoints` uses. */
export interface Thread {
  readonly postMessage: (message: "checkpoint") => void
  readonly on: (event: "message" | "error" | "exit", listener: () => void) => unknown
  readonly unref: () => void
  readonly terminate: () => Promise<unknown>
}

/** Counts the bytes written to one file, and runs its checkpoints. */
export class Checkpoints {
  private readonly start: () => Thread
  private thread: Thread | undefined = undefined
  private state: "idle" | "busy" | "gone" = "idle"
  /** Bytes since the last checkpoint began. */
  private written = 0
  /** Writers that wait for a checkpoint that has not begun. */
  private next: Array<() => void> = []
  /** Writers that wait for the checkpoint under way. */
  private now: ReadonlyArray<() => void> = []

  constructor(file: string, start: () => Thread = () => startThread(file)) {
    this.start = start
  }

  /** Adds the approximate number of bytes that a statement has written. */
  wrote(bytes: number): void {
    this.written += bytes + PER_STATEMENT
    if (this.written >= WORTH_BYTES && this.state === "idle") this.checkpoint()
  }

  /** Whether a writer has to wait (C3). */
  get isBehind(): boolean {
    return this.state === "busy" && this.written >= AHEAD_BYTES
  }

  /** Resolves after a checkpoint of everything that has been written until now. */
  caughtUp(): Promise<void> {
    return this.state === "busy" ? new Promise((resolve) => this.next.push(resolve)) : Promise.resolve()
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.ended()
    await this.thread?.terminate()
  }

  private checkpoint(): void {
    this.state = "busy"
    this.written = 0
    this.now = this.next
    this.next = []
    this.thread ??= this.started()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
    this.thread.postMessage("checkpoint")
  }

  private started(): Thread {
    const thread = this.start()
    thread.unref()
    thread.on("message", this.done)
    thread.on("error", this.ended)
    thread.on("exit", this.ended)
    return thread
  }

  private readonly done = (): void => {
    if (this.state === "gone") return
    this.state = "idle"
    for (const resume of this.now) resume()
    this.now = []
    if (this.next.length > 0) this.checkpoint()
  }

  /** C4 */
  private readonly ended = (): void => {
    this.state = "gone"
    for (const resume of [...this.now, ...this.next]) resume()
    this.now = []
    this.next = []
  }
}

// --- internal

const startThread = (file: string): Thread =>
  new Worker(new URL("./CheckpointThread.ts", import.meta.url), { workerData: file })
