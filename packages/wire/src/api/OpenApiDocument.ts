/**
 * Completes the generated document at `/openapi.json` with the facts that the generator does not derive from the schemas.
 *
 * Request bodies are closed: an unknown key is an error. Responses are open: a client must accept keys that later versions add. A call
 * lists the token where it may need it; an empty list means that it never does. Every body has complete examples.
 */
import { OpenApi } from "effect/http-api"
import * as Predicate from "effect/Predicate"
import * as SchemaAST from "effect/SchemaAST"
import { PersistedEvent } from "../TurnEvent.ts"
import { defined } from "../values/Defined.ts"
import { problems } from "./Problem.ts"

type Json = Record<string, unknown>

/** The calls that never need the token. */
const OPEN_PATHS = new Set(["/healthz"])

/** What a call does: a summary, and a description by its lines. */
export const about = (summary: string, ...description: ReadonlyArray<string>) =>
  OpenApi.annotations({ summary, ...(description.length > 0 && { description: description.join("\n") }) })

/** What a group of calls is for: its title, and a sentence. */
export const titled = (title: string, description: string) => OpenApi.annotations({ title, description })

/** Completes the document. */
export const complete = (document: Json): Json => {
  const components = objectAt(document, "components")
  const paths = objectAt(document, "paths")
  const schemas = completeSchemas(objectAt(components, "schemas"), sentIn(paths))
  return {
    ...document,
    paths: mapValues(paths, (methods, path) =>
      mapValues(toObject(methods), (operation) => completeOperation(toObject(operation), path, schemas))
    ),
    components: {
      schemas,
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "The configuration's `server.token`, if it has one."
        }
      }
    },
    security: [{}, { token: [] }]
  }
}

/** Replaces the document's description of a successful response, per media type. */
export const withContent = (content: Json) =>
  OpenApi.annotations({
    transform: (operation) => {
      const responses = objectAt(operation, "responses")
      const ok = objectAt(responses, "200")
      return {
        ...operation,
        responses: { ...responses, 200: { ...ok, content: { ...objectAt(ok, "content"), ...content } } }
      }
    }
  })

// --- internal

const toObject = (value: unknown): Json => (Predicate.isObject(value) ? { ...value } : {})

const objectAt = (value: Json, key: string): Json => toObject(value[key])

const mapValues = (value: Json, f: (value: unknown, key: string) => unknown): Json =>
  Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, f(inner, key)]))

const completeOperation = (operation: Json, path: string, schemas: Json): Json => {
  const completed = toObject(rename(operation))
  delete completed["security"]
  if (completed["requestBody"] !== undefined) {
    const body = withOptionalBody(toObject(completed["requestBody"]))
    completed["requestBody"] = withExamples(body, examplesOf(body, schemas))
  }
  return OPEN_PATHS.has(path) ? { ...completed, security: [] } : completed
}

/** The examples of the schema that a body refers to. */
const examplesOf = (body: Json, schemas: Json): ReadonlyArray<unknown> => {
  const examples = objectAt(schemas, schemaOf(body))["examples"]
  return Array.isArray(examples) ? examples : []
}

/** Adds an example of the body, so that tools show it instead of one made up from its keys. */
const withExamples = (body: Json, examples: ReadonlyArray<unknown>): Json => ({
  ...body,
  content: mapValues(objectAt(body, "content"), (media) => ({
    ...toObject(media),
    examples: Object.fromEntries(
      examples.map((value) => [Predicate.isObject(value) ? Object.keys(value).join(", ") : String(value), { value }])
    )
  }))
})

/** A body that may be `null` may be absent. */
const withOptionalBody = (body: Json): Json => {
  const media = objectAt(objectAt(body, "content"), "application/json")
  const members = objectAt(media, "schema")["anyOf"]
  if (!Array.isArray(members)) return body
  return { ...body, required: false, content: { "application/json": { ...media, schema: members[0] } } }
}

/** The names of the schemas of requests' bodies. */
const sentIn = (paths: Json): ReadonlySet<string> =>
  new Set(
    Object.values(paths)
      .flatMap((methods) => Object.values(toObject(methods)))
      .map((operation) => schemaOf(withOptionalBody(objectAt(toObject(operation), "requestBody"))))
  )

/** The name of the schema that a body refers to. */
const schemaOf = (body: Json): string => {
  const reference = objectAt(objectAt(objectAt(body, "content"), "application/json"), "schema")["$ref"]
  return typeof reference === "string" ? reference.slice(reference.lastIndexOf("/") + 1) : ""
}

const completeSchemas = (schemas: Json, sent: ReadonlySet<string>): Json => {
  const completed: Json = {}
  for (const [name, schema] of Object.entries(schemas)) {
    const named = toObject(rename(schema))
    completed[renamed(name)] = sent.has(name)
      ? named
      : name.endsWith(ENCODED)
        ? asProblem(name, named)
        : name === "TurnEvent"
          ? withFates(toObject(open(named)))
          : open(named)
  }
  return completed
}

/** Names each event's schema and states whether the event is persisted. */
const withFates = (schema: Json): Json => {
  const members = schema["anyOf"]
  if (!Array.isArray(members)) return schema
  const described = members.map((member) => {
    const types = objectAt(objectAt(toObject(member), "properties"), "type")["enum"]
    const type = Array.isArray(types) ? String(types[0]) : ""
    return { ...toObject(member), title: type, description: persisted.has(type) ? PERSISTED : TRANSIENT }
  })
  return { ...schema, anyOf: described }
}

const persisted: ReadonlySet<string> = new Set(PersistedEvent.members.map(({ fields }) => fields.type.schema.literal))

const PERSISTED = "Persisted: on disk before a client receives it, and with an `id:` in `text/event-stream`."
const TRANSIENT = "Transient: sent live only, never stored."

/** Problems decode leniently, as RFC 9457 requires; a problem that the service sends always has these keys. */
const asProblem = (name: string, schema: Json): Json => {
  const optional = new Set(["detail", "instance", "errors", ...(mayLack[renamed(name)] ?? [])])
  const description = descriptions.get(renamed(name))
  return {
    ...toObject(open(schema)),
    ...defined({ description }),
    required: Object.keys(objectAt(schema, "properties")).filter((key) => !optional.has(key))
  }
}

/** Optional keys, by problem. */
const mayLack: Record<string, ReadonlyArray<string>> = { TurnNotFoundProblem: ["conversationId"] }

/** The problems' descriptions, which the generator drops. */
const descriptions = new Map(
  Object.values(problems).map(({ ast }) => [SchemaAST.resolveIdentifier(ast), SchemaAST.resolveDescription(ast)])
)

/** Removes `additionalProperties: false` at every depth. */
const open = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(open)
  if (!Predicate.isObject(value)) return value
  const { additionalProperties, ...rest } = toObject(value)
  const opened = mapValues(rest, open)
  return additionalProperties === undefined || additionalProperties === false
    ? opened
    : { ...opened, additionalProperties: open(additionalProperties) }
}

/** The suffix that the generator gives to the name of a class's wire form. */
const ENCODED = "ProblemEncoded"
const renamed = (name: string): string => (name.endsWith(ENCODED) ? name.slice(0, -"Encoded".length) : name)

const rename = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(rename)
  if (!Predicate.isObject(value)) return value
  return mapValues(toObject(value), (inner, key) =>
    key === "$ref" && typeof inner === "string" ? renamed(inner) : rename(inner)
  )
}
