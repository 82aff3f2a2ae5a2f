/** The pieces of the page at `/docs`: text, tables, and JSON Schemas in words. */
import { Api } from "@holdfast/wire/api"
import { Predicate } from "effect"
import { OpenApi } from "effect/http-api"

/** Text as HTML. */
export const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** Paragraphs, with what stands between backticks as code. */
export const prose = (text: string): string =>
  text === ""
    ? ""
    : text
        .split("\n\n")
        .map((paragraph) => `<p>${inline(paragraph)}</p>`)
        .join("\n")

/** What is typed or sent, as it is. It can be reached by keyboard, because it may have to be scrolled. */
export const code = (text: string): string => `<pre tabindex="0"><code>${escape(text)}</code></pre>`

export interface Row {
  /** HTML. */
  readonly name: string
  /** HTML. */
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

export const table = (rows: ReadonlyArray<Row>): string =>
  rows.length === 0
    ? ""
    : `<div class="scroll"><table><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows
        .map(
          ({ description, isRequired, name, type }) =>
            `<tr><td><code>${name}</code>${isRequired ? "" : " <small>optional</small>"}</td><td>${type}</td><td>${inline(description)}</td></tr>`
        )
        .join("")}</tbody></table></div>`

/** The schema that a reference names, or the schema itself. */
export const resolve = (schema: object): object => {
  const reference = get(schema, "$ref")
  if (typeof reference !== "string") return schema
  return OpenApi.fromApi(Api.Api).components.schemas[nameOf(reference)] ?? schema
}

/** The keys of an object's schema as a table, but for some. */
export const properties = (schema: object, without: ReadonlySet<string> = new Set()): string => {
  const required = get(schema, "required")
  return table(
    entriesOf(get(schema, "properties"))
      .filter(([name]) => !without.has(name))
      .map(([name, property]) => ({
        name: escape(name),
        type: typeOf(property),
        isRequired: Array.isArray(required) && required.includes(name),
        description: descriptionOf(property)
      }))
  )
}

/** A type in few words, as HTML. */
export const typeOf = (schema: object): string => {
  const reference = get(schema, "$ref")
  if (typeof reference === "string") return referenceTo(nameOf(reference))
  const values = get(schema, "enum")
  if (Array.isArray(values)) return values.map((value) => `<code>${escape(JSON.stringify(value))}</code>`).join(" | ")
  const members = membersOf(schema)
  if (members.length > 0) return [...new Set(members.map(typeOf))].join(" | ")
  const items = get(schema, "items")
  if (Predicate.isObject(items)) return `list of ${typeOf(items)}`
  const type = get(schema, "type")
  return typeof type === "string" ? escape(type) : "any JSON"
}

export const descriptionOf = (schema: object): string => {
  const description = get(schema, "description")
  return typeof description === "string" ? description : ""
}

/** The schemas of which one applies. */
export const membersOf = (schema: object | undefined): ReadonlyArray<object> => {
  const members = schema === undefined ? undefined : (get(schema, "anyOf") ?? get(schema, "oneOf"))
  return Array.isArray(members) ? members.filter(Predicate.isObject) : []
}

/** The one value that a key can have. */
export const constantOf = (schema: object, key: string): string => {
  const property = entriesOf(get(schema, "properties")).find(([name]) => name === key)?.[1]
  const values = property === undefined ? undefined : get(property, "enum")
  return Array.isArray(values) ? String(values[0]) : ""
}

/** An example, as JSON. */
export const exampleOf = (schema: object): string | undefined => {
  const examples = get(schema, "examples")
  return Array.isArray(examples) && examples.length > 0 ? JSON.stringify(examples[0]) : undefined
}

// --- internal

const inline = (text: string): string => escape(text).replace(/`([^`]+)`/g, "<code>$1</code>")

const get = (value: object, key: string): unknown => (Predicate.hasProperty(value, key) ? value[key] : undefined)

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1)

const entriesOf = (value: unknown): ReadonlyArray<readonly [string, object]> =>
  Predicate.isObject(value)
    ? Object.entries(value).filter((entry): entry is [string, object] => Predicate.isObject(entry[1]))
    : []

/** Problems and events have sections of their own. */
const referenceTo = (name: string): string => {
  if (name === "TurnEvent") return `<a href="#events">event</a>`
  const schema = OpenApi.fromApi(Api.Api).components.schemas[name]
  const type = schema === undefined ? "" : constantOf(schema, "type")
  if (type.startsWith(`${Api.DOCS_PATH}#`)) {
    const anchor = type.slice(Api.DOCS_PATH.length)
    return `<a href="${escape(anchor)}">${escape(anchor.slice("#problem-".length).replaceAll("-", " "))}</a>`
  }
  return escape(name)
}
