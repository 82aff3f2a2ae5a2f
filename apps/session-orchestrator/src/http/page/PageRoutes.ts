/**
 * Routes the page for people: `/`, its files, and the call that asks for the token once.
 *
 * - `/` is the page for clients that accept HTML by name, as browsers do. For others it redirects to `/docs`.
 * - The content security policy allows scripts, styles and calls of this origin alone, and nothing inline. Images are data of the
 *   conversation (`data:`). No script can turn text into HTML (`require-trusted-types-for`).
 * - The page and its files hold no data, so they are readable without the token.
 * - The call that asks whether the page may call is answered with the limits of files, so the page refuses a file that is too large before
 *   it sends it.
 */
import { Api } from "@holdfast/wire/api"
import { Clock, Effect, Layer, type Redacted } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import type { Values } from "../../config/Config.ts"
import * as ResponseHeaders from "../body/ResponseHeaders.ts"
import * as StaticFile from "../body/StaticFile.ts"
import * as PageFiles from "./PageFiles.ts"
import * as PageSession from "./PageSession.ts"

const ASSETS = "/assets/"

/** The paths that need no token; an entry that ends with `/*` stands for the names in that folder. */
export const openPaths: ReadonlyArray<string> = ["/", `${ASSETS}*`]

/** The paths with their methods. */
export const paths: ReadonlyArray<readonly [method: string, path: string]> = [
  ["GET", "/"],
  ["GET", `${ASSETS}:name`],
  ["GET", PageSession.PATH],
  ["POST", PageSession.PATH]
]

/** The routes. `pageFolder` has the built page. */
export const layer = ({
  pageFolder = PageFiles.FOLDER,
  token,
  ...limits
}: Values["server"] & { readonly pageFolder?: string | undefined }) => {
  const files = PageFiles.make(pageFolder)
  return Layer.mergeAll(
    HttpRouter.add("GET", "/", root(files)),
    HttpRouter.add("GET", `${ASSETS}:name`, asset(files)),
    // The guard has checked the token or the session.
    HttpRouter.add("GET", PageSession.PATH, Effect.succeed(granted(limits))),
    HttpRouter.add("POST", PageSession.PATH, begin(token))
  )
}

// --- internal

const POLICY =
  "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"

const root = Effect.fnUntraced(function* (files: PageFiles.PageFiles) {
  const { headers } = yield* HttpServerRequest.HttpServerRequest

  if (!/\btext\/html\b/i.test(headers["accept"] ?? "")) {
    return HttpServerResponse.redirect(Api.DOCS_PATH, { headers: { vary: "accept" } })
  }
  const file = yield* Effect.promise(files.index)
  if (file === undefined) return HttpServerResponse.setHeaders(HttpServerResponse.html(MISSING), MISSING_HEADERS)
  const etag = `"${file.version}"`
  const common = { ...ResponseHeaders.page(POLICY), "cache-control": "no-cache", vary: "accept, accept-encoding", etag }
  return headers["if-none-match"] === etag
    ? HttpServerResponse.empty({ status: 304, headers: common })
    : yield* StaticFile.respond(file, common)
})

const asset = Effect.fnUntraced(function* (files: PageFiles.PageFiles) {
  const { name = "" } = yield* HttpRouter.params
  const file = yield* Effect.promise(() => files.asset(name))
  return file === undefined ? HttpServerResponse.empty({ status: 404 }) : yield* StaticFile.servePermanent(file)
})

const granted = ({ maxBodyBytes, maxFileBytes }: Pick<Values["server"], "maxFileBytes" | "maxBodyBytes">) =>
  HttpServerResponse.empty({
    status: 204,
    headers: { "holdfast-max-file-bytes": String(maxFileBytes), "holdfast-max-body-bytes": String(maxBodyBytes) }
  })

const begin = (token: Redacted.Redacted | undefined) =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    token === undefined
      ? HttpServerResponse.empty({ status: 204 })
      : HttpServerResponse.text(PageSession.make(token, randomBytes(16).toString("base64url"), now))
  )

const MISSING_HEADERS = { ...ResponseHeaders.page("img-src data:"), vary: "accept", refresh: "2" }

/** What `/` shows while a checkout builds the page. */
const MISSING = StaticFile.htmlPage({
  title: "Holdfast",
  head: '<link rel="icon" href="data:,">',
  body: `<h1>Holdfast</h1>
<p>${
    PageFiles.isCheckout
      ? "The service runs. Its page is being built, which takes a few seconds after the first start; it appears here by itself. If it does not, the service's log has the reason."
      : "The service runs. This copy of it was made without its page."
  }</p>
<p><a href="${Api.DOCS_PATH}">The HTTP API</a></p>`
})
