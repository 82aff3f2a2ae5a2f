/** Writes `curl` commands for the calls that return a stream. */
import * as Predicate from "effect/Predicate"
import * as DefaultAddress from "../DefaultAddress.ts"
import * as Ndjson from "../codec/Ndjson.ts"
import * as Sse from "../codec/Sse.ts"

type Json = Record<string, unknown>

/** The origin in the samples. A page that shows them replaces it with its own. */
export const { ORIGIN } = DefaultAddress

/** The samples of an operation. None where it returns a single document: tools that render OpenAPI write those themselves. */
export const of = (method: string, path: string, operation: Json, body: unknown): ReadonlyArray<Json> => {
  const responses = at(operation, "responses")
  const media = Object.keys(at(at(responses, "200"), "content"))
  if (!media.includes(Sse.CONTENT_TYPE)) return []
  const samples = media
    .map((type) => ({
      lang: "shell",
      label: labels[type] ?? type,
      source: curl(method, path, `Accept: ${type}`, body)
    }))
    .sort((a, b) => order.indexOf(a.label) - order.indexOf(b.label))
  if (responses["202"] === undefined) return samples
  return [...samples, { lang: "shell", label: SUBMITTED, source: curl(method, path, "Prefer: respond-async", body) }]
}

// --- internal

const labels: Record<string, string> = {
  "application/json": "The answer at the end",
  [Ndjson.CONTENT_TYPE]: "Events, one a line",
  [Sse.CONTENT_TYPE]: "Server-sent events"
}
const order = Object.values(labels)

/** The label of the call that returns at once. */
const SUBMITTED = "The turn's id at once"

const curl = (method: string, path: string, header: string, body: unknown): string =>
  [
    `curl -N ${method === "get" ? "" : `-X ${method.toUpperCase()} `}${ORIGIN}${path.replace("{conversationId}", "c_4f2k9x").replace("{turnId}", "t_7hq2m1")}`,
    `-H '${header}'`,
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`])
  ].join(" \\\n  ")

const at = (value: Json, key: string): Json => {
  const inner = value[key]
  return Predicate.isObject(inner) ? { ...inner } : {}
}
