/** The thread of `Integrity`: checks the file that it is given, and answers with what is damaged, or nothing. */
import { parentPort, workerData } from "node:worker_threads"
import * as QuickCheck from "./QuickCheck.ts"

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
parentPort?.postMessage(QuickCheck.faultsIn(String(workerData)))
