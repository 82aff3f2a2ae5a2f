/**
 * Decodes the content coding of a response on Node: gzip, deflate, br, and zstd where the runtime has it (rule C13).
 *
 * Decoding is paced by its reader: while the reader is paused, no more is decoded than the buffers of the decoders take. So the limits on a
 * response (rule C11) hold for the decoded bytes, however few bytes they came from. A coding within a coding may decode to little more than
 * the whole does: otherwise a few bytes could make work without end. A body that is cut off ends with what could be decoded: its reader
 * finds that the end mark is missing (rule C6).
 *
 * Sources: RFC 9110, section 8.4 (`content-encoding`, `x-gzip`); RFC 9659 (a window of at most 8 MB for zstd).
 */
import { Failure } from "@holdfast/wire"
import type { Transform } from "node:stream"
import * as Zlib from "node:zlib"

/** Takes a decoded body. */
export interface Sink {
  readonly data: (bytes: Uint8Array) => void
  readonly end: () => void
  /** The body cannot be decoded. Nothing is called after it. */
  readonly broken: (cause: Failure.ProviderFailure) => void
  /** The decoder has caught up after `write` returned `false`. */
  readonly drained: () => void
}

/** The decoding of one body. */
export type Decoding = ReturnType<typeof decoding>

/** Begins to decode; or the failure of a coding that is not known. */
export type ContentCoding = ((sink: Sink) => Decoding) | Failure.ProviderFailure

/** Returns the coding of a response by its `content-encoding`; `undefined`: it has none. */
export const of = (header: string | undefined, status: number): ContentCoding | undefined => {
  if (header === undefined) return undefined
  const names = header.split(",").map((name) => name.trim().toLowerCase())
  const codings = names.filter((name) => name !== "" && name !== "identity")
  if (codings.length === 0) return undefined
  // The last coding was applied last.
  const makers = codings.flatMap((name) => DECODERS.get(name) ?? []).toReversed()
  const isKnown = makers.length === codings.length && codings.length <= MOST_CODINGS
  return isKnown ? (sink) => decoding(makers, codings.join(", "), sink) : unknown(header, status)
}

// --- internal

/** More than one coding is rare. */
const MOST_CODINGS = 2

/** Bytes of a coding within a coding, beyond those that they decode to: what lies in the buffers between two decoders, and more. */
const MOST_WITHIN = 4 * 1024 * 1024

type Maker = (first: Uint8Array) => Transform

// Without a whole end the rest is given out as it is.
const ZLIB = { finishFlush: Zlib.constants.Z_SYNC_FLUSH }

const gunzip: Maker = () => Zlib.createGunzip(ZLIB)

/** Some servers leave out the header of zlib, which distinguishes its format. */
const inflate: Maker = (first) =>
  ((first[0] ?? 0) & 0x0f) === 0x08 ? Zlib.createInflate(ZLIB) : Zlib.createInflateRaw(ZLIB)

const unbrotli: Maker = () => Zlib.createBrotliDecompress({ finishFlush: Zlib.constants.BROTLI_OPERATION_FLUSH })

const unzstd: Maker = () =>
  Zlib.createZstdDecompress({
    finishFlush: Zlib.constants.ZSTD_e_flush,
    params: { [Zlib.constants.ZSTD_d_windowLogMax]: 23 }
  })

const DECODERS: ReadonlyMap<string, Maker> = new Map([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  ["deflate", inflate],
  ["br", unbrotli],
  // Absent before Node 22.15.
  ...("createZstdDecompress" in Zlib ? [["zstd", unzstd] as const] : [])
])

const unknown = (header: string, status: number): Failure.ProviderFailure =>
  failureOf(
    `The response has the content coding "${header.slice(0, 100)}" (HTTP ${status}), which cannot be decoded. ` +
      `Known are ${[...DECODERS.keys()].join(", ")}: have the endpoint, or the proxy before it, send none or one of them.`,
    false
  )

const failureOf = (message: string, retryable: boolean): Failure.ProviderFailure =>
  new Failure.ProviderFailure({ failure: { reason: "invalid-response", message, retryable } })

const decoding = (makers: ReadonlyArray<Maker>, name: string, sink: Sink) => {
  let stages: ReadonlyArray<Transform> = []
  let isOver = false
  /** Bytes that the codings within have decoded to, and the whole. */
  let [within, whole] = [0, 0]

  /** Frees the decoder. Nothing is called any more. */
  const close = (): void => {
    isOver = true
    for (const stage of stages) stage.destroy()
  }

  const broken = (error: Error): void => {
    if (isOver) return
    close()
    sink.broken(failureOf(`The response's content coding ${name} could not be decoded: ${error.message}`, true))
  }

  const begin = (first: Uint8Array): void => {
    stages = makers.map((make) => make(first))
    for (const [index, stage] of stages.entries()) {
      stage.on("error", broken)
      const next = stages[index + 1]
      if (next === undefined) continue
      stage.on("data", ({ length }: Uint8Array) => {
        within += length
        if (within > 2 * whole + MOST_WITHIN) broken(new Error("it has a coding that decodes to nothing"))
      })
      stage.pipe(next)
    }
    stages[0]?.on("drain", () => !isOver && sink.drained())
    stages.at(-1)?.on("data", (bytes: Uint8Array) => {
      whole += bytes.length
      if (!isOver) sink.data(bytes)
    })
    stages.at(-1)?.on("end", () => !isOver && sink.end())
  }

  return {
    write: (bytes: Uint8Array): boolean => {
      if (isOver || bytes.length === 0) return true
      if (stages.length === 0) begin(bytes)
      return stages[0]?.write(bytes) ?? true
    },
    end: (): void => {
      if (isOver) return
      if (stages.length === 0) sink.end() // an empty body
      else stages[0]?.end()
    },
    pause: () => void stages.at(-1)?.pause(),
    resume: () => void stages.at(-1)?.resume(),
    close
  }
}
