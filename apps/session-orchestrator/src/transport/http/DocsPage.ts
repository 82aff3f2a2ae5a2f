/**
 * The page at `/docs`: the API's own document, made readable.
 *
 * It is plain HTML with one style sheet inside, so it works without a network, without scripts and with a keyboard, and its
 * policy can forbid everything else. Sections have ids, which is where the `type` of a problem leads.
 */
import { TurnEvent } from "@holdfast/wire"
import { Api } from "@holdfast/wire/api"
import { HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import { createHash } from "node:crypto"
import * as Html from "./DocsHtml.ts"
import { style } from "./DocsStyle.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"

/** Answers with the page; `authority` is the `host:port` that its examples call. */
export const response = (authority: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(HttpServerResponse.html(render(authority)), headers)

/** The page as HTML. It is made for the first who asks, in some 20 to 90 ms, and no turn gets on meanwhile. */
export const render = (authority: string): string => {
  pieces ??= make().split(AUTHORITY)
  return pieces.join(Html.escape(authority))
}

// --- internal

/** Stands for the `host:port` of the examples: a character that is in no text. */
const AUTHORITY = "\uE000"

/** What is between one `host:port` and the next. */
let pieces: ReadonlyArray<string> | undefined = undefined

const make = (): string => {
  const document = OpenApi.fromApi(Api.Api)
  const operations = operationsOf(document)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${Html.escape(document.info.title)}: the HTTP API</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the calls</a>
<nav aria-label="Contents">
<p class="brand">${Html.escape(document.info.title)}</p>
${document.tags.map((tag) => contents(tag.name, operations)).join("\n")}
<p class="group">Reference</p>
<ul><li><a href="#events">Events</a></li><li><a href="#problems">Problems</a></li><li><a href="${Api.OPENAPI_PATH}">openapi.json</a></li></ul>
</nav>
<main id="main">
<h1>The HTTP API</h1>
${Html.prose(document.info.description ?? "")}
${document.tags.map((tag) => group(tag, operations)).join("\n")}
${events(document)}
${problems(document)}
</main>
</body>
</html>
`
}

const headers = ResponseHeaders.page(`sha256-${createHash("sha256").update(style).digest("base64")}`)

interface Operation {
  readonly method: string
  readonly path: string
  readonly spec: OpenApi.OpenAPISpecOperation
}

const METHODS = ["get", "put", "post", "delete", "patch"] as const

const operationsOf = (document: OpenApi.OpenAPISpec): ReadonlyArray<Operation> =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const spec = item[method]
      return spec === undefined ? [] : [{ method: method.toUpperCase(), path, spec }]
    })
  )

const anchorOf = ({ spec }: Operation): string => `call-${spec.operationId.replaceAll(".", "-")}`

const contents = (tag: string, operations: ReadonlyArray<Operation>): string =>
  `<p class="group">${Html.escape(tag)}</p>\n<ul>${operations
    .filter(({ spec }) => spec.tags.includes(tag))
    .map((operation) => `<li><a href="#${anchorOf(operation)}">${Html.escape(operation.spec.summary ?? "")}</a></li>`)
    .join("")}</ul>`

const group = (tag: OpenApi.OpenAPISpecTag, operations: ReadonlyArray<Operation>): string =>
  `<section>\n<h2>${Html.escape(tag.name)}</h2>\n${Html.prose(tag.description ?? "")}\n${operations
    .filter(({ spec }) => spec.tags.includes(tag.name))
    .map((operation) => call(operation))
    .join("\n")}\n</section>`

const call = (operation: Operation): string => {
  const { method, path, spec } = operation
  const parts = [
    `<h3>${Html.escape(spec.summary ?? "")}</h3>`,
    `<p class="call"><span class="method ${method.toLowerCase()}">${method}</span> <code>${Html.escape(path)}</code></p>`,
    Html.prose(spec.description ?? ""),
    parameters(spec),
    requestBody(spec),
    `<h4>Try it</h4>`,
    Html.code(curl(operation)),
    `<h4>Answers</h4>`,
    `<dl class="answers">${Object.entries(spec.responses).map(answer).join("")}</dl>`
  ]
  return `<article id="${anchorOf(operation)}">\n${parts.filter((part) => part !== "").join("\n")}\n</article>`
}

const parameters = ({ parameters }: OpenApi.OpenAPISpecOperation): string =>
  Html.table(
    parameters.map(({ in: place, name, required, schema }) => ({
      name: `${name} <small>${place}</small>`,
      type: Html.typeOf(schema),
      isRequired: required,
      description: Html.descriptionOf(schema)
    }))
  )

const requestBody = ({ requestBody }: OpenApi.OpenAPISpecOperation): string => {
  const schema = requestBody?.content["application/json"]?.schema
  return schema === undefined ? "" : `<h4>Body</h4>\n${Html.properties(Html.resolve(schema))}`
}

const curl = ({ method, path, spec }: Operation): string => {
  const streams = spec.responses[200]?.content?.["application/x-ndjson"] !== undefined
  const body = spec.requestBody?.content["application/json"]?.schema
  const example = body === undefined ? undefined : Html.exampleOf(Html.resolve(body))
  return [
    `curl ${path.endsWith("/events") || streams ? "-N " : ""}${method === "GET" ? "" : `-X ${method} `}http://${AUTHORITY}${path.replace("{conversationId}", "c_4f2k9x").replace("{turnId}", "t_7hq2m1")}`,
    ...(streams ? ["-H 'accept: application/x-ndjson'"] : []),
    ...(example === undefined
      ? []
      : ["-H 'content-type: application/json'", `-d '${example.replaceAll("'", String.raw`'\''`)}'`])
  ].join(" \\\n  ")
}

const answer = ([status, { content, description }]: readonly [string, OpenApi.OpenApiSpecResponse]): string => {
  const media = Object.entries(content ?? {})
  if (media.some(([type]) => type === "application/problem+json")) {
    return `<dt>${status}</dt><dd>${media.map(([, { schema }]) => Html.typeOf(schema)).join(", ")}</dd>`
  }
  const bodies = media.map(([type, { schema, ...rest }]) => {
    const example = "example" in rest ? rest.example : undefined
    const title = `<p><code>${Html.escape(type)}</code> ${Html.typeOf(schema)}</p>`
    const resolved = Html.resolve(schema)
    const body = typeof example === "string" ? Html.code(example) : Html.properties(resolved)
    return body === "" ? title : `${title}<details><summary>What it looks like</summary>${body}</details>`
  })
  const what = description === "Success" ? "" : Html.prose(description)
  return `<dt>${status}</dt><dd>${what}${bodies.join("")}</dd>`
}

const events = (document: OpenApi.OpenAPISpec): string => {
  const members = Html.membersOf(document.components.schemas["TurnEvent"])
  const items = members.map((member) => {
    const type = Html.constantOf(member, "type")
    const fate = Object.entries(TurnEvent.fate).find(([name]) => name === type)?.[1] ?? ""
    return `<article id="event-${type}">\n<h3><code>${type}</code> <small>${fate}</small></h3>\n${Html.properties(member, COMMON)}\n</article>`
  })
  return `<section id="events">
<h2>Events</h2>
<p>What a turn tells the world, in order. All carry <code>type</code>, <code>conversationId</code> and <code>turnId</code>. Persisted events are on disk before a client sees them, and carry an id in <code>text/event-stream</code>; transient ones are seen live, or never.</p>
${items.join("\n")}
</section>`
}

/** What every event carries is said once. */
const COMMON = new Set(["type", "conversationId", "turnId"])

const problems = (document: OpenApi.OpenAPISpec): string => {
  const items = Object.values(document.components.schemas).flatMap((schema) => {
    const anchor = Html.constantOf(schema, "type").split("#", 2)[1]
    return anchor === undefined
      ? []
      : [
          `<article id="${anchor}">\n<h3>${Html.constantOf(schema, "status")} ${Html.escape(Html.constantOf(schema, "title"))}</h3>\n${Html.prose(Html.descriptionOf(schema))}\n${Html.properties(schema, STANDARD)}\n</article>`
        ]
  })
  return `<section id="problems">
<h2>Problems</h2>
<p>Every error is <code>application/problem+json</code> with <code>type</code>, <code>title</code>, <code>status</code> and mostly a <code>detail</code> that says what happened and what to do.</p>
${items.join("\n")}
</section>`
}

/** What every problem has. */
const STANDARD = new Set(["type", "title", "status", "detail", "instance"])
