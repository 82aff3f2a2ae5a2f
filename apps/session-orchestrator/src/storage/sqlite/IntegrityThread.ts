/**
 * The worker thread of `Damage`: reads one SQLite file from end to end, and replies once.
 *
 * A large file takes seconds, in which turns go on in the main thread. `workerData` is the file's path; the reply is the damage in SQLite's
 * words, or `undefined`.
 */
import { parentPort, workerData } from "node:worker_threads"
import * as QuickCheck from "./QuickCheck.ts"

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
parentPort?.postMessage(QuickCheck.faultsIn(String(workerData)))
