/** Reads response bodies that are no stream: HTML pages, JSON documents, empty bodies. */
import { TextBuffer } from "@holdfast/kernel/host"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Deadline from "../limits/Deadline.ts"
import type { HttpResponse, Broken, BytePull } from "./Http.ts"

/** The most bytes, or characters, that are read of an error. A provider's error is a few hundred bytes, a proxy's page a few thousand. */
export const MAX_BYTES = 64 * 1024

/** The longest wait for an error's text, in milliseconds. The status, already known, is enough to classify it. */
export const MAX_WAIT_MS = 5000

/**
 * The kind of a body, by its first bytes: an event stream or a document; no stream begins like a document. `blank` means that too
 * little has been read.
 */
export const kindOf = (reads: ReadonlyArray<Uint8Array>): "blank" | "page" | "json" | "stream" => {
  for (const read of reads) {
    for (const byte of read) {
      if (!BLANK.has(byte)) return byte === ANGLE ? "page" : JSON_BEGINS.has(byte) ? "json" : "stream"
    }
  }
  return "blank"
}

/**
 * Reads a document to its end, in pieces of any size; `undefined` where it is longer than `most` characters. `begun` has been read
 * already. `progress` is called for each piece that has more than blanks: some servers send blanks to keep a connection alive.
 */
export const document = (
  bytes: BytePull,
  begun: ReadonlyArray<Uint8Array>,
  most: number,
  progress: () => void
): Effect.Effect<string | undefined, Broken> => {
  const decoder = new TextDecoder()
  const buffer = new TextBuffer.TextBuffer()
  const add = (reads: ReadonlyArray<Uint8Array>) => {
    for (const read of reads) buffer.append(decoder.decode(read, { stream: true }))
    if (kindOf(reads) !== "blank") progress()
  }
  const rest: Effect.Effect<string | undefined, Broken> = Effect.suspend(() =>
    buffer.length > most
      ? Effect.undefined
      : Pull.matchEffect(bytes, {
          onSuccess: (reads) => {
            add(reads)
            return rest
          },
          onFailure: (cause) => Effect.failCause(cause),
          onDone: () => Effect.sync(() => buffer.text() + decoder.decode())
        })
  )
  return Effect.suspend(() => {
    add(begun)
    return rest
  })
}

/** Reads the rest as text, up to the limits. A connection failure ends the text. `begun` has been read already. */
export const text = (
  { bytes, isWhole }: Pick<HttpResponse, "bytes" | "isWhole">,
  begun: ReadonlyArray<Uint8Array>
): Effect.Effect<string> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let text = ""
    const add = (reads: ReadonlyArray<Uint8Array>): Effect.Effect<void> => {
      for (const read of reads) text += decoder.decode(read, { stream: true })
      return text.length < MAX_BYTES ? rest : Effect.void
    }
    const end = () => Effect.void
    const rest: Effect.Effect<void> = Pull.matchEffect(bytes, { onSuccess: add, onFailure: end, onDone: end })
    const added = add(begun)
    return Effect.map(isWhole() ? added : Deadline.within(added, MAX_WAIT_MS), () =>
      (text + decoder.decode()).slice(0, MAX_BYTES)
    )
  })

/** An error's text, of `MAX_BYTES` characters at most. */
export const decoded = (reads: ReadonlyArray<Uint8Array>): string => {
  const decoder = new TextDecoder()
  const pieces = reads.map((read) => decoder.decode(read, { stream: true }))
  return (pieces.join("") + decoder.decode()).slice(0, MAX_BYTES)
}

// --- internal

/** White space, and the bytes of a byte order mark. */
const BLANK = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])

/** `<` */
const ANGLE = 0x3c

/** `{` and `[`. */
const JSON_BEGINS = new Set([0x7b, 0x5b])
