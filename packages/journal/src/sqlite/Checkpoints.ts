/**
 * Moves SQLite's write-ahead log into the database, in a thread of its own.
 *
 * By default SQLite does this in the commit that makes the log too long: 64 MiB would stop all turns for some hundred milliseconds.
 *
 * A log that a process before has left, or a burst, is emptied at the start, and once nothing was written for `IDLE_MS`.
 *
 * - The thread starts with the first checkpoint: a service that writes little has none.
 * Checkpoints.C2. One checkpoint at a time. Writes during a checkpoint count towards the next.
 * Checkpoints.C3. Writers that are further ahead than `AHEAD_BYTES` wait for the thread, and delay no other code: SQLite restarts the log
 *     only when a checkpoint has moved all of it.
 * Checkpoints.C4. When the thread could not be started or has ended, no writer waits, and SQLite makes all checkpoints.
 */
import { statSync } from "node:fs"
import { Worker } from "node:worker_threads"

/** Bytes after which a checkpoint is worth its two syncs. */
export const WORTH_BYTES = 16 * 1024 * 1024

/** Bytes that may be written during a checkpoint before writers wait. Together with the bytes before it they stay below SQLite's limit. */
export const AHEAD_BYTES = 16 * 1024 * 1024

/** The file of a log of this size is left as it is: emptying it is worth no thread. */
export const KEPT_BYTES = 1024 * 1024

/** Emptying the log keeps writers out for a moment, so it waits until there are none. */
export const IDLE_MS = 5_000

/** The fewest bytes that a statement writes: a page. */
const PER_STATEMENT = 4 * 1024

/** The part of a `Worker` that `Checkpoints` uses. */
export interface Thread {
  readonly postMessage: (message: Task) => void
  readonly on: (event: "message" | "error" | "exit", listener: () => void) => unknown
  readonly unref: () => void
  readonly terminate: () => Promise<unknown>
}

/** A checkpoint moves the log and lets writers write; emptying it sets its file to 0 bytes as well, unless another process reads. */
export type Task = "checkpoint" | "empty"

/** What `Checkpoints` asks of the system. */
export interface System {
  readonly start: () => Thread
  /** Bytes of the log's file. */
  readonly size: () => number
  /** Calls a function later; the returned one prevents that. */
  readonly later: (ms: number, run: () => void) => () => void
}

/** Counts the bytes written to one file, and runs its checkpoints. */
export class Checkpoints {
  private readonly system: System
  private thread: Thread | undefined = undefined
  private state: "idle" | "busy" | "gone" = "idle"
  /** Bytes since the last checkpoint began. */
  private written = 0
  /** Writers that wait for a checkpoint that has not begun. */
  private next: Array<() => void> = []
  /** Writers that wait for the checkpoint under way. */
  private now: ReadonlyArray<() => void> = []
  /** Statements until now, and when the log was last looked at. */
  private statements = 0
  private seen = 0
  /** Prevents the next look at the log, if one is due. */
  private cancelLook: (() => void) | undefined = undefined

  constructor(file: string, system: System = systemOf(file)) {
    this.system = system
    if (this.isLong) this.run("empty")
  }

  /** Adds the approximate number of bytes that a statement has written. */
  wrote(bytes: number): void {
    this.written += bytes + PER_STATEMENT
    this.statements++
    this.lookLater()
    if (this.written >= WORTH_BYTES && this.state === "idle") this.run("checkpoint")
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

  private get isLong(): boolean {
    return this.system.size() > KEPT_BYTES
  }

  /** Has the log emptied once no statement is executed between two looks. */
  private lookLater(): void {
    if (this.cancelLook !== undefined || this.state === "gone") return
    this.seen = this.statements
    this.cancelLook = this.system.later(IDLE_MS, () => {
      this.cancelLook = undefined
      if (this.state === "busy" || this.statements !== this.seen) return this.lookLater()
      if (this.isLong) this.run("empty")
    })
  }

  private run(task: Task): void {
    this.state = "busy"
    this.written = 0
    this.now = this.next
    this.next = []
    this.thread ??= this.started()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
    this.thread.postMessage(task)
  }

  private started(): Thread {
    const thread = this.system.start()
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
    if (this.next.length > 0) this.run("checkpoint")
    else if (this.isLong) this.lookLater()
  }

  /** C4 */
  private readonly ended = (): void => {
    this.state = "gone"
    this.cancelLook?.()
    for (const resume of [...this.now, ...this.next]) resume()
    this.now = []
    this.next = []
  }
}

// --- internal

const systemOf = (file: string): System => ({
  start: () => new Worker(new URL("./CheckpointThread.ts", import.meta.url), { workerData: file }),
  size: () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  later: (ms, run) => {
    const timer = setTimeout(run, ms).unref()
    return () => clearTimeout(timer)
  }
})
