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
import type { BodyShare } from "../base/system/BodyBudget.ts"
import * as CallBody from "./CallBody.ts"

/** A body that was read. */
interface Body {
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
interface Unread {
  readonly unread: Buffer
}

/** Why a body was not read: it is larger than the limit, as it came or decoded, or there is no room for it now. */
type Refused = "too-large" | "no-room"

/** Reads a whole body. It never ends if the client disconnects: its call is interrupted then. */
export const read = (
  request: IncomingMessage,
  mostBytes: number,
  share: BodyShare
): Effect.Effect<Body | Unread | Refused> =>
  Effect.callback((resume) => {
    const coding = ContentCoding.of(request.headers["content-encoding"], 200)
    const length = coding === undefined ? request.headers["content-length"] : undefined
    const measured = new Measured(Number(length ?? 0))
    const coded: Array<Buffer> = []
    const taken = { coded: 0, decoded: 0 }
    let decoding: ContentCoding.Decoding | undefined
    const close = (): void => {
      request.off("data", take).off("end", finish)
      decoding?.close()
    }
    const end = (result: Body | Unread | Refused): void => {
      close()
      resume(Effect.succeed(result))
    }
    /** Whether there is room for a piece. */
    const hasRoom = (kind: "coded" | "decoded", { length }: Uint8Array): boolean => {
      taken[kind] += length
      const isTooLarge = taken[kind] > mostBytes
      if (!isTooLarge && share.take(length)) return true
      end(isTooLarge ? "too-large" : "no-room")
      return false
    }
    const take = (piece: Buffer): void => {
      if (coding === undefined) {
        if (hasRoom("decoded", piece)) measured.take(piece)
      } else if (hasRoom("coded", piece)) coded.push(piece)
    }
    const finish = (): void => {
      if (coding === undefined) return end(measured.body())
      const unread = Buffer.concat(coded)
      if (typeof coding === "object") return end({ unread })
      decoding = coding({
        data: ({ buffer, byteOffset, length }) => {
          const piece = Buffer.from(buffer, byteOffset, length)
          if (hasRoom("decoded", piece)) measured.take(piece)
        },
        end: () => end({ ...measured.body(), coded: unread }),
        broken: () => end({ unread }),
        drained: () => {}
      })
      decoding.write(unread)
      decoding.end()
    }
    request.on("data", take).on("end", finish)
    return Effect.sync(close)
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
  /** Bytes that are expected; 0: the client has not said. */
  private readonly expected: number
  private readonly pieces: Array<Buffer> = []
  private readonly scan = new JsonShape.Scan(MOST_NORMAL, JsonShape.MOST_LEVELS)
  /** What a thread reads. It is filled as the body arrives: 48 MB at once take 70 ms of the thread of all clients. */
  private shared: Buffer | undefined
  private length = 0

  constructor(expected: number) {
    this.expected = expected
  }

  take(piece: Buffer): void {
    const at = this.length
    this.length += piece.length
    this.scan.push(piece.toString("latin1"))
    if (this.shared === undefined && this.length <= MOST_BYTES) return void this.pieces.push(piece)
    if (this.shared === undefined || this.length > this.shared.length) {
      const read = this.shared === undefined ? this.pieces.splice(0) : [this.shared]
      this.shared = sharedOf(read, this.expected < this.length ? 2 * this.length : this.expected)
    }
    this.shared.set(piece, at)
  }

  body(): Body {
    const isTooLarge = this.scan.push("") !== undefined || this.length > MOST_NORMAL_BYTES
    const isLarge = this.length > MOST_BYTES || (!isTooLarge && this.scan.values > MOST_VALUES)
    if (isLarge) this.shared ??= sharedOf(this.pieces, this.length)
    return { bytes: this.shared?.subarray(0, this.length) ?? Buffer.concat(this.pieces), isTooLarge, isLarge }
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
