/** Starts `ThreadProviderWorker.ts` on a thread, and blocks this thread while it sends. */
import { Effect } from "effect"
import { once } from "node:events"
import { Worker } from "node:worker_threads"

/** The flag that orders the worker to send the rest. */
export const SEND = 1

/** The flag that the rest has been sent. */
export const SENT = 2

/** The data that the worker starts with. */
export interface WorkerInput {
  readonly flags: Int32Array<SharedArrayBuffer>
  readonly first: string
  readonly rest: string
}

/** Starts the thread; it ends with the scope. */
export const threadProvider = (first: string, rest: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const flags = new Int32Array(new SharedArrayBuffer(8))
      const worker = new Worker(new URL("./ThreadProviderWorker.ts", import.meta.url), {
        workerData: { flags, first, rest }
      })
      const [port] = await once(worker, "message")
      return {
        worker,
        url: `http://127.0.0.1:${port}`,
        /** Blocks this thread until the rest of the response has been sent, and `ms` longer. */
        block: (ms: number) => {
          Atomics.store(flags, 0, SEND)
          Atomics.notify(flags, 0)
          while (Atomics.load(flags, 0) !== SENT) Atomics.wait(flags, 0, SEND, 1000)
          Atomics.wait(flags, 1, 0, ms)
        }
      }
    }),
    ({ worker }) => Effect.promise(() => worker.terminate())
  )
