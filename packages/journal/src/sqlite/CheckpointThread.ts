/** The thread of `Checkpoints`: runs a task for each message, and replies when it is done. */
import { parentPort, workerData } from "node:worker_threads"
import type { Task } from "./Checkpoints.ts"
import * as NodeSqlite from "./NodeSqlite.ts"

const { DatabaseSync } = NodeSqlite.load()
const database = new DatabaseSync(String(workerData))
database.exec("PRAGMA synchronous = FULL")
database.exec("PRAGMA fullfsync = ON")
database.exec("PRAGMA checkpoint_fullfsync = ON")

parentPort?.on("message", (task: Task) => {
  try {
    // Passive: it waits for no writer, and no writer waits for it.
    database.exec("PRAGMA wal_checkpoint(PASSIVE)")
    // Nothing is left to move: writers are kept out for the cut of the file alone. With a reader it does nothing.
    if (task === "empty") database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  } catch {
    // Committed data is in the log. The next write reports a disk that fails.
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
  parentPort?.postMessage("done")
})
