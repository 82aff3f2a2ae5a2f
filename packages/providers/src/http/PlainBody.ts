/** Distinguishes a response that is no stream by its first bytes: an HTML page, or a JSON document. */

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

// --- internal

/** White space, and the bytes of a byte order mark. */
const BLANK = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])

/** `<` */
const ANGLE = 0x3c

/** `{` and `[`. */
const JSON_BEGINS = new Set([0x7b, 0x5b])
