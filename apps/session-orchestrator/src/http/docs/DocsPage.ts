/**
 * Serves the page at `/docs`: Scalar over the API's document, with forms for calls.
 *
 * The page has a field for the token and a form for each call.
 *
 * DocsPage.D1. It requests nothing from another host: script, settings and document are files of this service, and fonts are the system's.
 * DocsPage.D2. Its content security policy allows scripts and calls of this origin alone. Scalar writes its styles into the page and into
 *     attributes, which have no hash that a policy could name; therefore styles, and only styles, may be inline.
 * DocsPage.D3. The document is part of the settings: one rule of access covers the whole page, and a token that a person enters is used for
 *     their calls only.
 * DocsPage.D4. The `type` of a problem is `/docs#problem-NAME`. Scalar has no such anchors, so the settings redirect to `ProblemsPage`.
 */
import { Api, CodeSamples } from "@holdfast/wire/api"
import { HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import * as ProblemsPage from "./ProblemsPage.ts"
import * as ResponseHeaders from "../body/ResponseHeaders.ts"
import * as ScalarScript from "./ScalarScript.ts"
import * as StaticFile from "../body/StaticFile.ts"

/** The path of Scalar's script. */
export const SCRIPT_PATH = `${Api.DOCS_PATH}/scalar.js`

/** The path of the script with the settings and the document. */
export const SETTINGS_PATH = `${Api.DOCS_PATH}/settings.js`

/** The page. The first request for it loads the script (`ScalarScript.S1`). */
export const page = async (): Promise<HttpServerResponse.HttpServerResponse> => {
  const [script, start] = await Promise.all([ScalarScript.load(), settings()])
  return HttpServerResponse.setHeaders(
    HttpServerResponse.html(render(StaticFile.urlOf(SETTINGS_PATH, start), StaticFile.urlOf(SCRIPT_PATH, script))),
    ResponseHeaders.page(POLICY)
  )
}

/** The settings and the document as a script, which starts Scalar. */
export const settings = (): Promise<StaticFile.StaticFile> => (made ??= StaticFile.make(start()))

// --- internal

let made: Promise<StaticFile.StaticFile> | undefined = undefined

/** DocsPage.D2 */
const POLICY = "script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'"

const render = (settings: string, script: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Holdfast: the HTTP API</title>
<link rel="icon" href="data:,">
<style>html,body{margin:0;overflow-x:clip}</style>
<script defer src="${settings}"></script>
<script defer src="${script}"></script>
</head>
<body>
<div id="api"></div>
<noscript><p>This page needs JavaScript. Without it, read <a href="${Api.OPENAPI_PATH}">the document</a> and <a href="${ProblemsPage.PATH}">the problems</a>.</p></noscript>
</body>
</html>
`

const CONFIGURATION = {
  // DocsPage.D1
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
  const text = ${JSON.stringify(JSON.stringify(OpenApi.fromApi(Api.Api)))}
  // Scalar itself is loaded by then: deferred scripts run before this event.
  addEventListener("DOMContentLoaded", () =>
    Scalar.createApiReference("#api", {
      ...${JSON.stringify(CONFIGURATION)},
      content: JSON.parse(text.replaceAll(${JSON.stringify(CodeSamples.ORIGIN)}, location.origin))
    })
  )
})()
`
