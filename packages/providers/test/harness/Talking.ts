/** Starts `TalkingWorker.ts` on a thread, and blocks this thread while it sends. */
import { Effect } from "effect"
import { once } from "node:events"
import { Worker } from "node:worker_threads"

export const SPEAK = 1
export const SPOKEN = 2

export interface Talk {
  readonly flags: Int32Array<SharedArrayBuffer>
  readonly first: string
  readonly rest: string
}

/** Starts the thread; it ends with the scope. */
export const talking = (first: string, rest: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const flags = new Int32Array(new SharedArrayBuffer(8))
      const worker = new Worker(new URL("./TalkingWorker.ts", import.meta.url), { workerData: { flags, first, rest } })
      const [port] = await once(worker, "message")
      return {
        worker,
        url: `http://127.0.0.1:${port}`,
        /** Blocks this thread until the rest of the response has been sent, and `ms` longer. */
        standStill: (ms: number) => {
          Atomics.store(flags, 0, SPEAK)
          Atomics.notify(flags, 0)
          while (Atomics.load(flags, 0) !== SPOKEN) Atomics.wait(flags, 0, SPEAK, 1000)
          Atomics.wait(flags, 1, 0, ms)
        }
      }
    }),
    ({ worker }) => Effect.promise(() => worker.terminate())
  )
