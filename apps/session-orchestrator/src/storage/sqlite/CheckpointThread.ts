/** The thread of `Checkpoints`: empties the write-ahead log into the database whenever it is asked to, and answers when it has. */
import { parentPort, workerData } from "node:worker_threads"
import * as NodeSqlite from "./NodeSqlite.ts"

const { DatabaseSync } = NodeSqlite.load()
const database = new DatabaseSync(String(workerData))
database.exec("PRAGMA synchronous = FULL")
database.exec("PRAGMA fullfsync = ON")
database.exec("PRAGMA checkpoint_fullfsync = ON")

parentPort?.on("message", () => {
  try {
    // Passive: it waits for no writer, and no writer waits for it.
    database.exec("PRAGMA wal_checkpoint(PASSIVE)")
  } catch {
    // What is committed is in the log. A disk that fails is reported by the next write.
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
  parentPort?.postMessage("done")
})
