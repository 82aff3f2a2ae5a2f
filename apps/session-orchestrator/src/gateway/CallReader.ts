/**
 * Reads the body of a call without delaying other clients.
 *
 * The body is measured while it arrives. Most bodies are parsed at once; a larger one is read in a thread, which has a limit of memory.
 */
import { JsonShape } from "@holdfast/wire"
import { Effect, Semaphore } from "effect"
import type { IncomingMessage } from "node:http"
import { Worker } from "node:worker_threads"
import type { Share } from "../system/BodyBudget.ts"
import * as CallBody from "./CallBody.ts"

/** A body that was read. */
export interface Body {
  readonly bytes: Buffer
  /** Of values, exact up to `MOST_NORMAL`; then, and beyond the most levels, it is too large to be normalised. */
  readonly isTooLarge: boolean
  /** Whether a thread reads it. */
  readonly isLarge: boolean
}

/** Why a body was not read: it is larger than the limit, or there is no room for it now. */
export type Refused = "too-large" | "no-room"

/** Reads a whole body. It never ends if the client disconnects: its call is interrupted then. */
export const read = (request: IncomingMessage, mostBytes: number, share: Share): Effect.Effect<Body | Refused> =>
  Effect.callback((resume) => {
    const pieces: Array<Buffer> = []
    const most = Math.min(mostBytes, Number(request.headers["content-length"] ?? mostBytes))
    /** What a thread reads. It is filled as the body arrives: 48 MB at once take 70 ms of the thread of all clients. */
    let shared: Buffer | undefined
    const scan = new JsonShape.Scan(MOST_NORMAL, JsonShape.MOST_LEVELS)
    let length = 0
    let refused: Refused | undefined
    request.on("data", (piece: Buffer) => {
      if (refused !== undefined) return
      length += piece.length
      refused = length > mostBytes ? "too-large" : share.take(piece.length) ? undefined : "no-room"
      if (refused !== undefined) {
        pieces.length = 0
        return resume(Effect.succeed(refused))
      }
      if (shared !== undefined) shared.set(piece, length - piece.length)
      else {
        pieces.push(piece)
        if (length > MOST_BYTES) shared = sharedOf(pieces.splice(0), most)
      }
      scan.push(piece.toString("latin1"))
    })
    request.on("end", () => {
      if (refused !== undefined) return
      const isTooLarge = scan.push("") !== undefined || length > MOST_NORMAL_BYTES
      const isLarge = shared !== undefined || (!isTooLarge && scan.values > MOST_VALUES)
      if (isLarge) shared ??= sharedOf(pieces, length)
      const bytes = shared?.subarray(0, length) ?? Buffer.concat(pieces)
      resume(Effect.succeed({ bytes, isTooLarge, isLarge }))
    })
  })

/** What a body has of its call. `undefined`: the body cannot be read. */
export const outline = (body: Body): Effect.Effect<CallBody.Outline | undefined> => {
  if (body.isLarge) return inThread(body)
  return Effect.sync(() => {
    if (body.isTooLarge) return CallBody.outline(body.bytes, true)
    const members = CallBody.parse(body.bytes)
    return members === undefined ? undefined : { members }
  })
}

// --- internal

const inThread = ({ bytes, isTooLarge }: Body): Effect.Effect<CallBody.Outline | undefined> =>
  alone(
    Effect.callback<CallBody.Outline | undefined>((resume) => {
      const worker = new Worker(new URL("./CallThread.ts", import.meta.url), {
        workerData: { bytes, isTooLarge },
        resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MB }
      })
      worker.once("message", (outline: CallBody.Outline | undefined) => resume(Effect.succeed(outline)))
      // A thread that could not be started, or ran out of memory, has no result.
      worker.once("error", () => resume(Effect.undefined))
      worker.once("exit", () => resume(Effect.undefined))
      return Effect.promise(() => worker.terminate())
    })
  )

/** Pieces in memory of `bytes` that a thread reads too. */
const sharedOf = (pieces: ReadonlyArray<Buffer>, bytes: number): Buffer => {
  const shared = Buffer.from(new SharedArrayBuffer(bytes))
  let at = 0
  for (const piece of pieces) at += piece.copy(shared, at)
  return shared
}

/** Parsed and digested on the thread of all clients in some 40 ms. */
const MOST_BYTES = 2 * 1024 * 1024
const MOST_VALUES = 20_000

/** Normalised in a second of a thread. A long session with tools has fewer. */
const MOST_NORMAL = 500_000
const MOST_NORMAL_BYTES = 128 * 1024 * 1024

const MOST_HEAP_MB = 1_024

/** One thread at a time: others would take the time of the clients. */
const alone = Semaphore.makeUnsafe(1).withPermits(1)
