/**
 * Reads the body of a call without delaying other clients.
 *
 * The body is measured while it arrives. Most bodies are parsed at once; a larger one is read in a thread, which has a limit of memory.
 */
import { ContentCoding } from "@holdfast/providers/raw"
import { JsonShape } from "@holdfast/wire"
import { Effect, Semaphore } from "effect"
import type { IncomingMessage } from "node:http"
import { Worker } from "node:worker_threads"
import type { Share } from "../system/BodyBudget.ts"
import * as CallBody from "./CallBody.ts"

/** A body that was read. */
export interface Body {
  /** Without its content coding. */
  readonly bytes: Buffer
  /** As it came; absent: it has no coding. */
  readonly coded?: Buffer
  /** Of values, exact up to `MOST_NORMAL`; then, and beyond the most levels, it is too large to be normalised. */
  readonly isTooLarge: boolean
  /** Whether a thread reads it. */
  readonly isLarge: boolean
}

/** A body in a coding that cannot be decoded, as it came. */
export interface Unread {
  readonly unread: Buffer
}

/** Why a body was not read: it is larger than the limit, as it came or decoded, or there is no room for it now. */
export type Refused = "too-large" | "no-room"

/** Reads a whole body. It never ends if the client disconnects: its call is interrupted then. */
export const read = (
  request: IncomingMessage,
  mostBytes: number,
  share: Share
): Effect.Effect<Body | Unread | Refused> =>
  Effect.callback((resume) => {
    const coding = ContentCoding.of(request.headers["content-encoding"], 200)
    const most = coding === undefined ? Number(request.headers["content-length"] ?? mostBytes) : mostBytes
    const measured = new Measured(Math.min(mostBytes, most), mostBytes, share)
    const coded = new Measured(mostBytes, mostBytes, share)
    const first = coding === undefined ? measured : coded
    let isOver = false
    const end = (result: Body | Unread | Refused) => {
      if (!isOver) resume(Effect.succeed(result))
      isOver = true
    }
    request.on("data", (piece: Buffer) => {
      const refused = isOver ? undefined : first.take(piece, coding === undefined)
      if (refused !== undefined) end(refused)
    })
    request.on("end", () => {
      if (isOver) return
      if (coding === undefined) return end(measured.body())
      const unread = coded.bytes()
      if (typeof coding === "object") return end({ unread })
      const decoding = coding({
        data: (bytes) => {
          const refused = measured.take(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
          if (refused === undefined) return
          decoding.close()
          end(refused)
        },
        end: () => end({ ...measured.body(), coded: unread }),
        broken: () => end({ unread }),
        drained: () => {}
      })
      decoding.write(unread)
      decoding.end()
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

/** A body that is measured while it arrives. */
class Measured {
  private readonly mostShared: number
  private readonly mostBytes: number
  private readonly share: Share
  private readonly pieces: Array<Buffer> = []
  private readonly scan = new JsonShape.Scan(MOST_NORMAL, JsonShape.MOST_LEVELS)
  /** What a thread reads. It is filled as the body arrives: 48 MB at once take 70 ms of the thread of all clients. */
  private shared: Buffer | undefined
  private length = 0

  constructor(mostShared: number, mostBytes: number, share: Share) {
    this.mostShared = mostShared
    this.mostBytes = mostBytes
    this.share = share
  }

  /** Takes a piece, of JSON or not. */
  take(piece: Buffer, isJson = true): Refused | undefined {
    this.length += piece.length
    const refused = this.length > this.mostBytes ? "too-large" : this.share.take(piece.length) ? undefined : "no-room"
    if (refused !== undefined) {
      this.pieces.length = 0
      return refused
    }
    if (this.shared !== undefined) this.shared.set(piece, this.length - piece.length)
    else {
      this.pieces.push(piece)
      if (isJson && this.length > MOST_BYTES) this.shared = sharedOf(this.pieces.splice(0), this.mostShared)
    }
    if (isJson) this.scan.push(piece.toString("latin1"))
    return undefined
  }

  body(): Body {
    const isTooLarge = this.scan.push("") !== undefined || this.length > MOST_NORMAL_BYTES
    const isLarge = this.shared !== undefined || (!isTooLarge && this.scan.values > MOST_VALUES)
    if (isLarge) this.shared ??= sharedOf(this.pieces, this.length)
    return { bytes: this.bytes(), isTooLarge, isLarge }
  }

  bytes(): Buffer {
    return this.shared?.subarray(0, this.length) ?? Buffer.concat(this.pieces)
  }
}

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
