/**
 * Serves the page at `/docs`, Scalar over the API's document, with forms for calls; and the page at `/docs/problems`, which explains each problem.
 *
 * - It requests nothing from another host: script, settings and document are files of this service, and fonts are the system's.
 * - Its content security policy allows scripts and calls of this origin alone. Scalar writes its styles into the page and into attributes,
 *   which have no hash that a policy could name; therefore styles, and only styles, may be inline.
 * - The document is part of the settings: one rule of access covers the whole page, and a token that a person enters is used for their
 *   calls only.
 * - The `type` of a problem is `/docs#problem-NAME`. Scalar has no such anchors, so the settings redirect to the page of problems:
 *   plain HTML with one inline style, which works without scripts; its policy forbids everything else.
 */
import { Api, Problem } from "@holdfast/wire/api"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi, OpenApi } from "effect/http-api"
import { createHash } from "node:crypto"
import * as Prose from "../../base/text/Prose.ts"
import * as ResponseHeaders from "../body/ResponseHeaders.ts"
import * as StaticFile from "../body/StaticFile.ts"
import { Effect, Layer, Predicate } from "effect"

/** The path of Scalar's script. */
export const SCRIPT_PATH = `${Api.DOCS_PATH}/scalar.js`

/** The path of the script with the settings and the document. */
export const SETTINGS_PATH = `${Api.DOCS_PATH}/settings.js`

/** The path of the page of problems. */
export const PROBLEMS_PATH = `${Api.DOCS_PATH}/problems`

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
  const script = /<script>(.*?)<\/script>/s.exec(html)?.[1]
  if (script === undefined) throw new Error("The page of effect's HttpApiScalar has no inline script to cut out.")
  return script
}

/** The paths of these pages. */
export const paths = [Api.DOCS_PATH, SCRIPT_PATH, SETTINGS_PATH, PROBLEMS_PATH] as const

/** The routes. */
export const layer = Layer.mergeAll(
  HttpRouter.add("GET", Api.DOCS_PATH, Effect.promise(page)),
  HttpRouter.add("GET", SCRIPT_PATH, Effect.flatMap(Effect.promise(script), StaticFile.serve)),
  HttpRouter.add("GET", SETTINGS_PATH, Effect.flatMap(Effect.promise(settings), StaticFile.serve)),
  HttpRouter.add(
    "GET",
    PROBLEMS_PATH,
    Effect.sync(() => problems())
  )
)

// --- internal

let made: Promise<StaticFile.StaticFile> | undefined = undefined

const POLICY = "script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'"

const render = (settings: string, script: string): string =>
  StaticFile.htmlPage({
    title: "Holdfast: the HTTP API",
    head: `<link rel="icon" href="data:,">
<style>html,body{margin:0;overflow-x:clip}</style>
<script defer src="${settings}"></script>
<script defer src="${script}"></script>`,
    body: `<div id="api"></div>
<noscript><p>This page needs JavaScript. Without it, read <a href="${Api.OPENAPI_PATH}">the document</a> and <a href="${PROBLEMS_PATH}">the problems</a>.</p></noscript>`
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
    if (isProblem) location.replace(${JSON.stringify(PROBLEMS_PATH)} + location.hash)
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

let madeProblems: HttpServerResponse.HttpServerResponse | undefined = undefined

/** It is made at the first request. */
const problems = (): HttpServerResponse.HttpServerResponse => (madeProblems ??= makeProblems())

const makeProblems = (): HttpServerResponse.HttpServerResponse => {
  const { schemas } = OpenApi.fromApi(Api.Api).components
  const sections = Object.entries(Problem.problems).map(([name, { identifier }]) => {
    const schema = schemas[identifier] ?? {}
    const properties = Predicate.hasProperty(schema, "properties") ? schema.properties : {}
    return `<section id="problem-${name}">
<h2>${constantOf(properties, "status")} ${Prose.markup(constantOf(properties, "title"))}</h2>
<p><code>${Api.DOCS_PATH}#problem-${name}</code></p>
<p>${prose(Predicate.hasProperty(schema, "description") ? String(schema.description) : "")}</p>
</section>`
  })
  const page = StaticFile.htmlPage({
    title: "Holdfast: problems",
    head: `<style>${STYLE}</style>`,
    body: `<main>
<p><a href="${Api.DOCS_PATH}">The HTTP API</a></p>
<h1>Problems</h1>
<p>Every error is <code>application/problem+json</code> with <code>type</code>, <code>title</code>, <code>status</code> and mostly a <code>detail</code> that says what happened and what to do.</p>
${sections.join("\n")}
</main>`
  })
  const digest = createHash("sha256").update(STYLE).digest("base64")
  return HttpServerResponse.setHeaders(
    HttpServerResponse.html(page),
    ResponseHeaders.page(`style-src 'sha256-${digest}'`)
  )
}

const STYLE = `
:root{color-scheme:light dark}
body{margin:0;font:16px/1.55 system-ui,sans-serif}
main{max-width:46rem;margin:auto;padding:1.5rem 1rem 50vh}
h2{font-size:1.15rem;margin:2rem 0 .3rem}
p{margin:.3rem 0}
section:target{outline:3px solid;outline-offset:.6rem;border-radius:3px}
code{font:.87em ui-monospace,monospace;overflow-wrap:anywhere}
`

/** The only value that a key of an object's schema can have. */
const constantOf = (properties: unknown, key: string): string => {
  const property = Predicate.hasProperty(properties, key) ? properties[key] : undefined
  const values = Predicate.hasProperty(property, "enum") ? property.enum : undefined
  return Array.isArray(values) ? String(values[0]) : ""
}

/** Text as HTML; text between backticks becomes code. */
const prose = (text: string): string => Prose.markup(text).replace(/`([^`]+)`/g, "<code>$1</code>")
