/**
 * Moves what was written from SQLite's log into the database, in a thread of its own.
 *
 * Left to SQLite, the commit that makes the log too long does this: 64 MiB hold all turns for some hundred milliseconds.
 *
 * C1. The thread starts with the first checkpoint: a service that writes little has none.
 * C2. One checkpoint at a time. What is written meanwhile counts towards the next.
 * C3. Writers that are further ahead than `AHEAD_BYTES` wait for the thread, and hold up nobody else: SQLite begins the log anew only
 *     where a checkpoint has found all of it.
 * C4. Without the thread, which could not be started or has ended, nobody waits, and SQLite does it all.
 */
import { Worker } from "node:worker_threads"

/** A checkpoint is worth its two syncs from here on. */
export const WORTH_BYTES = 16 * 1024 * 1024

/** What is written during a checkpoint until writers wait. With what was written before it stays below SQLite's own limit. */
export const AHEAD_BYTES = 16 * 1024 * 1024

/** What a statement writes at least, in bytes: a page. */
const PER_STATEMENT = 4 * 1024

/** The part of a `Worker` that is used. */
export interface Thread {
  readonly postMessage: (message: "checkpoint") => void
  readonly on: (event: "message" | "error" | "exit", listener: () => void) => unknown
  readonly unref: () => void
  readonly terminate: () => Promise<unknown>
}

export class Checkpoints {
  private readonly start: () => Thread
  private thread: Thread | undefined = undefined
  private state: "idle" | "busy" | "gone" = "idle"
  /** Since the last checkpoint began. */
  private written = 0
  /** Writers that wait for a checkpoint that has not begun. */
  private next: Array<() => void> = []
  /** Writers that wait for the one under way. */
  private now: ReadonlyArray<() => void> = []

  constructor(file: string, start: () => Thread = () => startThread(file)) {
    this.start = start
  }

  /** A statement has written so many bytes, about. */
  wrote(bytes: number): void {
    this.written += bytes + PER_STATEMENT
    if (this.written >= WORTH_BYTES && this.state === "idle") this.checkpoint()
  }

  /** Whether a writer has to wait (C3). */
  get isBehind(): boolean {
    return this.state === "busy" && this.written >= AHEAD_BYTES
  }

  /** Resolves behind a checkpoint of all that has been written until now. */
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
