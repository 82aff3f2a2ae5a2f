/**
 * One thread of the database, from its start to its end, as the thread of the turns sees it.
 *
 * F1. Calls reach the database in the order in which they were made; those of one turn of the event loop cross in one message.
 * F2. Every call has an outcome. One that the thread has not answered by its end fails with a `StorageError` that says how it
 *     ended; what the call was to write may be there.
 * F3. A caller that is interrupted leaves its call alone: it is done all the same.
 */
import { Effect } from "effect"
import type { Worker } from "node:worker_threads"
import { StorageError } from "../Store.ts"
import type { Call } from "./Calls.ts"
import { type Items, Reader } from "./Items.ts"
import { type Command, DONE, FAILED, type Report } from "./Messages.ts"

/** Goes on with what was answered, or with words on why nothing was. */
type Pending = (outcome: number, items: Reader) => void

export class DatabaseThread {
  /** When the database is open: nothing. When it will never be: why. */
  readonly opened: Promise<string | undefined>

  private readonly worker: Worker
  private readonly path: string
  private readonly ended: Promise<void>
  private readonly pending = new Map<number, Pending>()
  private calls = 0
  private items: Items = []
  private state: "opening" | "open" | "closing" = "opening"
  private fault: string | undefined

  /**
   * Opens a database on a thread that has been started for it.
   *
   * @param onDeath hears why, before any caller does, if it ends and nobody has closed it
   */
  constructor(worker: Worker, path: string, onDeath: (why: string) => void) {
    this.worker = worker
    this.path = path
    const opened = Promise.withResolvers<string | undefined>()
    const ended = Promise.withResolvers<void>()
    this.opened = opened.promise
    this.ended = ended.promise
    worker.on("message", (report: Report) => {
      switch (report._tag) {
        case "Opened":
          if (this.state === "opening") this.state = "open"
          opened.resolve(undefined)
          return this.post()
        case "Refused":
          this.fault = report.message
          return
        case "Answers":
          return this.hear(report.items)
        default:
          return report satisfies never
      }
    })
    worker.on("error", (error: unknown) => {
      this.fault = diedOf(path, error instanceof Error ? error.message : String(error))
    })
    worker.on("exit", (code) => {
      const isClosed = this.state === "closing"
      const why = this.fault ?? (isClosed ? closed(path) : diedOf(path, `it ended with code ${code}`))
      if (!isClosed) onDeath(why)
      opened.resolve(why)
      for (const pending of this.pending.values()) pending(FAILED, new Reader([why])) // F2
      this.pending.clear()
      ended.resolve()
    })
    this.say({ _tag: "Open", path })
  }

  /** Calls without an outcome yet. */
  get underWay(): number {
    return this.pending.size
  }

  /** Makes a call, and hands on its outcome. */
  ask<In, Out>(call: Call<In, Out>, input: In, resume: (outcome: Effect.Effect<Out, StorageError>) => void): void {
    if (this.state === "closing") return resume(Effect.fail(new StorageError({ message: closed(this.path) })))
    const id = this.calls++
    if (this.items.length === 0) setImmediate(() => this.post())
    this.items.push(id, call.number)
    call.ask(this.items, input)
    this.pending.set(id, (outcome, items) => {
      if (outcome === DONE) return resume(Effect.succeed(call.hear(items, input)))
      const message = items.next<string>()
      resume(outcome === FAILED ? Effect.fail(new StorageError({ message })) : Effect.die(new Error(message)))
    })
  }

  /** Does what was asked, takes no more, closes the database and ends the thread. */
  async close(): Promise<void> {
    this.post()
    this.state = "closing"
    this.say({ _tag: "Close" })
    await this.ended
  }

  // --- internal

  /** Nothing is sent before the database is open: the thread keeps no calls for later. */
  private post(): void {
    if (this.state !== "open" || this.items.length === 0) return
    const { items } = this
    this.items = []
    this.say({ _tag: "Calls", items })
  }

  private hear(items: Items): void {
    const reader = new Reader(items)
    while (!reader.isAtEnd) {
      const id = reader.next<number>()
      const pending = this.pending.get(id)
      if (pending === undefined) throw new Error("An answer came to nothing that was asked")
      this.pending.delete(id)
      pending(reader.next<number>(), reader)
    }
  }

  private say(command: Command): void {
    // oxlint-disable-next-line require-post-message-target-origin -- a thread, not a window.
    this.worker.postMessage(command)
  }
}

/** What a call fails with that comes too late. */
const closed = (path: string): string => `Could not use the database ${path}: the database has been closed.`

const diedOf = (path: string, why: string): string =>
  `The thread that works on the database ${path} has died: ${why}. What was being written may be there or not; try again.`
