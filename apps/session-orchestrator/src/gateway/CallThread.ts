/** The thread of `CallReader`: reads one large body, and replies with its outline. */
import { parentPort, workerData } from "node:worker_threads"
import * as CallBody from "./CallBody.ts"

const { bytes, isTooLarge }: { readonly bytes: Uint8Array; readonly isTooLarge: boolean } = workerData
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
parentPort?.postMessage(CallBody.outline(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), isTooLarge))
