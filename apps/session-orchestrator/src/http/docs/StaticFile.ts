/** A script that the service serves: compressed once, named by its content, kept by browsers for as long as they like. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gunzip, gzip } from "node:zlib"

export interface StaticFile {
  /** Stands in its address, so that another content has another address. */
  readonly version: string
  readonly gzipped: Uint8Array
}

/** Compresses a script, on a thread of its own. */
export const make = async (script: string): Promise<StaticFile> => {
  const bytes = Buffer.from(script)
  return {
    version: createHash("sha256").update(bytes).digest("hex").slice(0, 16),
    gzipped: await promisify(gzip)(bytes)
  }
}

/** The address of a file that is served at a path. */
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
      // Under the address of another version, as after an upgrade, this content must not be kept.
      ...(request.url.endsWith(`?v=${file.version}`) ? { "cache-control": KEEP } : {})
    }
  })
})

// --- internal

/** A year, without asking again. Not for caches between: a token may be needed to read it. */
const KEEP = "private, max-age=31536000, immutable"

/** A client that takes gzip, and does not rule it out by `q=0`. */
const GZIP = /(?:^|,)\s*(?:gzip|\*)\s*(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))(?:;|,|$)/i
