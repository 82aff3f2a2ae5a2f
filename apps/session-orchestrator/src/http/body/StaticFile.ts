/** Serves a file that never changes: compressed once, addressed by its content, cached by browsers. Also the frame of HTML pages. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gunzip, gzip } from "node:zlib"

/** A compressed file and its version. */
export type StaticFile = Awaited<ReturnType<typeof make>>

/** Compresses a file on another thread; a script by default. */
export const make = async (content: string | Uint8Array, contentType = "text/javascript; charset=utf-8") => {
  const bytes = Buffer.from(content)
  return {
    /** A hash of the content, which is part of the address: other content has another address. */
    version: createHash("sha256").update(bytes).digest("hex").slice(0, 16),
    contentType,
    gzipped: await promisify(gzip)(bytes)
  }
}

/** The address of a file at a path, with its version. */
export const urlOf = (path: string, { version }: StaticFile): string => `${path}?v=${version}`

/** Answers a request for a file whose address `urlOf` made. */
export const serve = Effect.fnUntraced(function* (file: StaticFile) {
  const { url } = yield* HttpServerRequest.HttpServerRequest
  // A request for another version, as after an upgrade, must not cache this content.
  return yield* respond(file, url.endsWith(`?v=${file.version}`) ? { "cache-control": KEEP } : {})
})

/** Answers a request for a file whose path has a hash of its content. */
export const servePermanent = (file: StaticFile) => respond(file, { "cache-control": KEEP })

/** Answers a request for a file with headers of its own. */
export const respond = Effect.fnUntraced(function* (file: StaticFile, headers: Readonly<Record<string, string>>) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const isPacked = GZIP.test(request.headers["accept-encoding"] ?? "")
  const body = isPacked ? file.gzipped : yield* Effect.promise(() => promisify(gunzip)(file.gzipped))
  return HttpServerResponse.uint8Array(body, {
    contentType: file.contentType,
    headers: { vary: "accept-encoding", ...(isPacked ? { "content-encoding": "gzip" } : {}), ...headers }
  })
})

/** A page for people, with what all pages have in their head. `head` and `body` are HTML. */
export const htmlPage = ({
  body,
  head,
  title
}: {
  readonly title: string
  readonly head: string
  readonly body: string
}) =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
<body>
${body}
</body>
</html>
`

// --- internal

/** A year without revalidation. Not for shared caches: reading the file may require a token. */
const KEEP = "private, max-age=31536000, immutable"

/** An `Accept-Encoding` that accepts gzip, without `q=0`. */
const GZIP = /(?:^|,)\s*(?:gzip|\*)\s*(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))(?:;|,|$)/i
