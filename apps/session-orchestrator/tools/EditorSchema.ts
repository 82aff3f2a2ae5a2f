/**
 * Makes the JSON Schema of `holdfast.config.json` from the service's own schema and the tables of docs/configuration.md. Pure.
 *
 * EditorSchema.E1. Shapes, ranges and patterns come from `Settings`; descriptions and defaults come from the page. Neither is written twice.
 * EditorSchema.E2. What the service accepts, the schema accepts. The reverse holds for names, types, numbers and forms of text; what keys
 * mean together, and how long a duration may be, only the service checks.
 */
import { Ajv } from "ajv"
import { JsonSchema, Schema } from "effect"
import { Settings } from "../src/config/reading/Settings.ts"

/** The whole schema. `page` is docs/configuration.md. */
export const make = (page: string): JsonSchema.JsonSchema => {
  const { schema } = JsonSchema.toDocumentDraft07(Schema.toJsonSchemaDocument(Settings, { onExcessProperty: "error" }))
  const rows = rowsOf(page)
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "holdfast.config.json",
    description: "The configuration of Holdfast. docs/configuration.md has every key.",
    // Extensions of VS Code, for files that end in .json.
    allowComments: true,
    allowTrailingCommas: true,
    ...described(schema, [], rows)
  }
}

export interface Row {
  /** What the key is, as a sentence. */
  readonly description: string
  /** What holds where the key is not set, as the page writes it. */
  readonly default: string
  /** The same for each profile, where they differ. */
  readonly byProfile: string
}

/** The rows of all tables of keys, by key. */
export const rowsOf = (page: string): ReadonlyMap<string, Row> => {
  const rows = new Map<string, Row>()
  let columns: ReadonlyArray<string> = []
  for (const line of page.split("\n")) {
    if (!line.startsWith("|")) {
      columns = []
      continue
    }
    const cells = line.split("|").slice(1, -1).map(plain)
    if (columns.length === 0) columns = cells.map((cell) => cell.replaceAll("`", ""))
    const key = /^`([a-z$][\w$.*]*)`$/.exec(cells[0] ?? "")?.[1]
    if (columns[0] === "key" && key !== undefined) rows.set(key, rowOf(columns, cells))
  }
  return rows
}

// --- internal

/** The profiles, whose values are columns of the table of `retry`; the first one is the default. */
const PROFILES = ["overnight", "interactive", "cycling"]

const rowOf = (columns: ReadonlyArray<string>, cells: ReadonlyArray<string>): Row => {
  const cellOf = (column: string): string => cells[columns.indexOf(column)] ?? ""
  const values = PROFILES.map((profile) => cellOf(profile) || "none")
  return {
    description: capital(cellOf("meaning")),
    default: columns.includes("default") ? cellOf("default") : cellOf("overnight"),
    byProfile:
      new Set(values).size > 1 && cellOf("cycling") !== ""
        ? PROFILES.map((profile, at) => `${profile} ${values[at]}`).join("; ")
        : ""
  }
}

/** Links without their addresses. */
const plain = (cell: string): string => cell.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").trim()

const capital = (text: string): string => text.replace(/^[a-z]/, (first) => first.toUpperCase())

/** A row as keywords: a default is one where it is a value that the key can have, and a sentence otherwise. */
const keywordsOf = (row: Row, schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  const value = valueOf(row.default)
  const isValue = value !== undefined && ajv.validate(schema, value)
  const sentences = [
    row.description,
    ...(row.byProfile !== ""
      ? [`By profile: ${row.byProfile}`]
      : isValue || row.default === "" || row.default === "none"
        ? []
        : [row.default.startsWith("required") ? capital(row.default) : `Default: ${row.default}`])
  ]
  return { description: `${sentences.join(". ")}.`, ...(isValue ? { default: value } : {}) }
}

const ajv = new Ajv({ strict: false })

/** What a cell holds that is code and nothing else. */
const valueOf = (cell: string): unknown => {
  const code = /^`([^`]*)`$/.exec(cell)?.[1]
  return code !== undefined && /^(?:"|\[|-?\d+$|true$|false$)/.test(code) ? JSON.parse(code) : code
}

const described = (
  schema: JsonSchema.JsonSchema,
  path: ReadonlyArray<string>,
  rows: ReadonlyMap<string, Row>
): JsonSchema.JsonSchema => ({
  ...schema,
  ...objectOf(schema, "properties", (properties) => ({
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, inner]) => {
        const key = [...path, name]
        const row = rowAt(key, rows)
        const own = described(Object(inner), key, rows)
        return [name, row === undefined ? own : { ...keywordsOf(row, own), ...own }]
      })
    )
  })),
  ...objectOf(schema, "additionalProperties", (inner) => ({
    additionalProperties: described(inner, [...path, "*"], rows)
  })),
  ...(Array.isArray(schema["anyOf"])
    ? { anyOf: schema["anyOf"].map((inner) => described(Object(inner), path, rows)) }
    : {})
})

const objectOf = <A>(
  schema: JsonSchema.JsonSchema,
  key: string,
  make: (inner: JsonSchema.JsonSchema) => A
): A | undefined => {
  const inner = schema[key]
  return typeof inner === "object" && inner !== null ? make({ ...inner }) : undefined
}

/** A schedule is described once. */
const rowAt = (path: ReadonlyArray<string>, rows: ReadonlyMap<string, Row>): Row | undefined => {
  const key = path.join(".")
  return rows.get(key) ?? rows.get(key.replace(/^retry\.reasons\.\*\.schedule\./, "retry.schedule."))
}
