/** The thread of `Damage`: checks one file, and replies with its damage, if any. */
import { parentPort, workerData } from "node:worker_threads"
import * as QuickCheck from "./QuickCheck.ts"

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
parentPort?.postMessage(QuickCheck.faultsIn(String(workerData)))
