/**
 * Serves the page at `/docs`: Scalar over the API's document, with forms for calls.
 *
 * - It requests nothing from another host: script, settings and document are files of this service, and fonts are the system's.
 * - Its content security policy allows scripts and calls of this origin alone. Scalar writes its styles into the page and into attributes,
 *   which have no hash that a policy could name; therefore styles, and only styles, may be inline.
 * - The document is part of the settings: one rule of access covers the whole page, and a token that a person enters is used for their
 *   calls only.
 * - The `type` of a problem is `/docs#problem-NAME`. Scalar has no such anchors, so the settings redirect to `ProblemsPage`.
 */
import { Api } from "@holdfast/wire/api"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi, OpenApi } from "effect/http-api"
import * as ProblemsPage from "./ProblemsPage.ts"
import * as HtmlPage from "../body/HtmlPage.ts"
import * as ResponseHeaders from "../body/ResponseHeaders.ts"
import * as StaticFile from "../body/StaticFile.ts"
import { Effect, Layer } from "effect"

/** The path of Scalar's script. */
export const SCRIPT_PATH = `${Api.DOCS_PATH}/scalar.js`

/** The path of the script with the settings and the document. */
export const SETTINGS_PATH = `${Api.DOCS_PATH}/settings.js`

/** The page. The first request for it loads the script. */
export const page = async (): Promise<HttpServerResponse.HttpServerResponse> => {
  const [renderer, start] = await Promise.all([script(), settings()])
  return HttpServerResponse.setHeaders(
    HttpServerResponse.html(render(StaticFile.urlOf(SETTINGS_PATH, start), StaticFile.urlOf(SCRIPT_PATH, renderer))),
    ResponseHeaders.page(POLICY)
  )
}

/** The settings and the document as a script, which starts Scalar. */
export const settings = (): Promise<StaticFile.StaticFile> => (made ??= StaticFile.make(start()))

/**
 * Loads the script of Scalar as a file to serve. A failure is not kept: the next call tries again.
 *
 * `effect` contains the script inside the page that `HttpApiScalar.layer` renders, inline, which a strict policy forbids: it is cut out of that
 * page. It is loaded at the first visit, and compressed once on another thread: 0.2 s of CPU time, which stops turns for 10 to 70 ms. The
 * process is some 35 MB larger from then on, because the module with the text stays loaded.
 */
export const script = (): Promise<StaticFile.StaticFile> =>
  (loadingScript ??= readScript().catch((error: unknown) => {
    loadingScript = undefined
    throw error
  }))

/** The first inline script of a page. Throws if there is none. */
export const cut = (html: string): string => {
  const from = html.indexOf(OPEN)
  const to = html.indexOf(CLOSE, from)
  if (from === -1 || to === -1) throw new Error("The page of effect's HttpApiScalar has no inline script to cut out.")
  return html.slice(from + OPEN.length, to)
}

/** The paths of these pages. */
export const paths = [Api.DOCS_PATH, SCRIPT_PATH, SETTINGS_PATH, ProblemsPage.PATH] as const

/** The routes. */
export const layer = Layer.mergeAll(
  HttpRouter.add("GET", Api.DOCS_PATH, Effect.promise(page)),
  HttpRouter.add("GET", SCRIPT_PATH, Effect.flatMap(Effect.promise(script), StaticFile.serve)),
  HttpRouter.add("GET", SETTINGS_PATH, Effect.flatMap(Effect.promise(settings), StaticFile.serve)),
  HttpRouter.add("GET", ProblemsPage.PATH, Effect.sync(ProblemsPage.response))
)

// --- internal

let made: Promise<StaticFile.StaticFile> | undefined = undefined

const POLICY = "script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'"

const render = (settings: string, script: string): string =>
  HtmlPage.of({
    title: "Holdfast: the HTTP API",
    head: `<link rel="icon" href="data:,">
<style>html,body{margin:0;overflow-x:clip}</style>
<script defer src="${settings}"></script>
<script defer src="${script}"></script>`,
    body: `<div id="api"></div>
<noscript><p>This page needs JavaScript. Without it, read <a href="${Api.OPENAPI_PATH}">the document</a> and <a href="${ProblemsPage.PATH}">the problems</a>.</p></noscript>`
  })

const CONFIGURATION = {
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  agent: { disabled: true },
  mcp: { disabled: true },
  // These link to a service of Scalar's.
  hideClientButton: true,
  showDeveloperTools: "never",
  // A token is gone when the page is closed.
  persistAuth: false,
  authentication: { preferredSecurityScheme: "token" },
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  defaultOpenAllTags: true
} as const

const start = (): string => `"use strict";
(() => {
  const lead = () => {
    const isProblem = location.hash.startsWith("#problem-")
    if (isProblem) location.replace(${JSON.stringify(ProblemsPage.PATH)} + location.hash)
    return isProblem
  }
  addEventListener("hashchange", lead)
  if (lead()) return
  // Scalar probes whether it may make functions from text. The policy forbids it, and the browser would report the probe as a violation.
  window.Function = new Proxy(Function, {
    construct: () => {
      throw new EvalError("The policy of this page forbids functions made from text.")
    }
  })
  // Scalar itself is loaded by then: deferred scripts run before this event.
  addEventListener("DOMContentLoaded", () =>
    Scalar.createApiReference("#api", {
      ...${JSON.stringify(CONFIGURATION)},
      content: JSON.parse(${JSON.stringify(JSON.stringify(OpenApi.fromApi(Api.Api)))})
    })
  )
})()
`

const OPEN = "<script>"
const CLOSE = "</script>"

let loadingScript: Promise<StaticFile.StaticFile> | undefined = undefined

const readScript = async (): Promise<StaticFile.StaticFile> => {
  const { layer } = await import("effect/http-api/HttpApiScalar")
  const { dispose, handler } = HttpRouter.toWebHandler(layer(HttpApi.make("empty"), { path: "/" }), {
    disableLogger: true
  })
  try {
    const page = await handler(new Request("http://localhost/"))
    return await StaticFile.make(cut(await page.text()))
  } finally {
    await dispose()
  }
}
