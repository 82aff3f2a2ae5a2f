/** Serves a script: compressed once, addressed by its content, cached by browsers. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gunzip, gzip } from "node:zlib"

/** A compressed script and its version. */
export interface StaticFile {
  /** A hash of the content, which is part of the address: other content has another address. */
  readonly version: string
  readonly gzipped: Uint8Array
}

/** Compresses a script on another thread. */
export const make = async (script: string): Promise<StaticFile> => {
  const bytes = Buffer.from(script)
  return {
    version: createHash("sha256").update(bytes).digest("hex").slice(0, 16),
    gzipped: await promisify(gzip)(bytes)
  }
}

/** The address of a file at a path, with its version. */
export const urlOf = (path: string, { version }: StaticFile): string => `${path}?v=${version}`

/** Answers a request for a file. */
export const serve = Effect.fnUntraced(function* (file: StaticFile) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const isPacked = GZIP.test(request.headers["accept-encoding"] ?? "")
  const body = isPacked ? file.gzipped : yield* Effect.promise(() => promisify(gunzip)(file.gzipped))
  return HttpServerResponse.uint8Array(body, {
    contentType: "text/javascript; charset=utf-8",
    headers: {
      vary: "accept-encoding",
      ...(isPacked ? { "content-encoding": "gzip" } : {}),
      // A request for another version, as after an upgrade, must not cache this content.
      ...(request.url.endsWith(`?v=${file.version}`) ? { "cache-control": KEEP } : {})
    }
  })
})

// --- internal

/** A year without revalidation. Not for shared caches: reading the file may require a token. */
const KEEP = "private, max-age=31536000, immutable"

/** An `Accept-Encoding` that accepts gzip, without `q=0`. */
const GZIP = /(?:^|,)\s*(?:gzip|\*)\s*(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))(?:;|,|$)/i
