/** Reads a SQLite file from end to end (`QuickCheck`), in a thread of its own: a gigabyte takes seconds, in which turns go on. */
import { Effect } from "effect"
import { Worker } from "node:worker_threads"

/** What is damaged in a file, in SQLite's words; `undefined` where nothing is, or where the file cannot be checked. */
export const faultOf = (file: string): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const worker = new Worker(new URL("./IntegrityThread.ts", import.meta.url), { workerData: file })
    worker.once("message", (fault: unknown) => resume(Effect.succeed(typeof fault === "string" ? fault : undefined)))
    // A thread that could not be started, or broke off, has found nothing out.
    worker.once("error", () => resume(Effect.succeed(undefined)))
    worker.once("exit", () => resume(Effect.succeed(undefined)))
    return Effect.promise(() => worker.terminate())
  })
