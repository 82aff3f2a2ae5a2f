/** Runs a task of `StarvedWorker.ts` on its own thread, which may run out of memory safely. */
import { once } from "node:events"
import { Worker } from "node:worker_threads"

export type Task = "text" | "openAiCall" | "anthropicCall" | "dataLines" | "reads" | "errors"

/** Returns the task's result; fails if `mebibytes` are too few. */
export const starved = async (task: Task, mebibytes: number): Promise<unknown> => {
  const worker = new Worker(new URL("./StarvedWorker.ts", import.meta.url), {
    workerData: { task },
    resourceLimits: { maxOldGenerationSizeMb: mebibytes }
  })
  try {
    const [result] = await once(worker, "message")
    return result
  } finally {
    await worker.terminate()
  }
}
