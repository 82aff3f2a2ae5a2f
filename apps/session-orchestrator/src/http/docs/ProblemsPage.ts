/**
 * Serves the page at `/docs/problems`, which explains each problem.
 *
 * A problem's anchor is the end of its `type`. The page is plain HTML with one inline style. It works without scripts, and its
 * content security policy forbids everything else.
 */
import { Api, Problem } from "@holdfast/wire/api"
import { Predicate } from "effect"
import { HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import { createHash } from "node:crypto"
import * as Prose from "../../base/text/Prose.ts"
import * as HtmlPage from "../body/HtmlPage.ts"
import * as ResponseHeaders from "../body/ResponseHeaders.ts"

/** The path of the page. */
export const PATH = `${Api.DOCS_PATH}/problems`

/** The page as a response. */
export const response = (): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(HttpServerResponse.html(render()), headers)

/** The page as HTML. It is made at the first request. */
export const render = (): string => (made ??= make())

// --- internal

let made: string | undefined = undefined

const make = (): string => {
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
  return HtmlPage.of({
    title: "Holdfast: problems",
    head: `<style>${STYLE}</style>`,
    body: `<main>
<p><a href="${Api.DOCS_PATH}">The HTTP API</a></p>
<h1>Problems</h1>
<p>Every error is <code>application/problem+json</code> with <code>type</code>, <code>title</code>, <code>status</code> and mostly a <code>detail</code> that says what happened and what to do.</p>
${sections.join("\n")}
</main>`
  })
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

const headers = ResponseHeaders.page(`style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`)

/** The only value that a key of an object's schema can have. */
const constantOf = (properties: unknown, key: string): string => {
  const property = Predicate.hasProperty(properties, key) ? properties[key] : undefined
  const values = Predicate.hasProperty(property, "enum") ? property.enum : undefined
  return Array.isArray(values) ? String(values[0]) : ""
}

/** Text as HTML; text between backticks becomes code. */
const prose = (text: string): string => Prose.markup(text).replace(/`([^`]+)`/g, "<code>$1</code>")
