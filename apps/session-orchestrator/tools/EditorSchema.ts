/**
 * Makes the JSON Schema of `holdfast.config.json` from the declarations of settings. Pure.
 *
 * What the service accepts, the schema accepts. The reverse holds for names, types, numbers and forms of text; what keys mean together,
 * and how long a duration may be, only the service checks.
 */
import { Setting } from "@holdfast/policy"
import { JsonSchema, Schema } from "effect"
import { Settings } from "../src/config/reading/Settings.ts"

/** The whole schema. */
export const make = (settings: Schema.Constraint = Settings): JsonSchema.JsonSchema => {
  const { schema } = JsonSchema.toDocumentDraft07(Schema.toJsonSchemaDocument(settings, { onExcessProperty: "error" }))
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "holdfast.config.json",
    description: "The configuration of Holdfast. docs/settings.md has every key.",
    // Extensions of VS Code, for files that end in .json.
    allowComments: true,
    allowTrailingCommas: true,
    ...described(schema, [], Setting.rows(settings))
  }
}

// --- internal

/** The profiles, in the order of `Setting.About.profiles`. */
const PROFILES = ["overnight", "interactive", "cycling"]

const keywordsOf = (row: Setting.Row): JsonSchema.JsonSchema => {
  const byProfile = row.profiles?.map((value, at) => `${PROFILES[at]} ${value}`).join("; ")
  const sentences = [
    capital(plain(row.doc)),
    ...(byProfile !== undefined ? [`By profile: ${byProfile}`] : []),
    ...(byProfile === undefined && row.isRequired && row.unset === undefined ? ["Required"] : []),
    ...(byProfile === undefined && row.unset !== undefined && row.unset !== "none" ? [unsetOf(row.unset)] : [])
  ]
  return { description: `${sentences.join(". ")}.`, ...(row.default === undefined ? {} : { default: row.default }) }
}

const unsetOf = (unset: string): string => (unset.startsWith("required") ? capital(unset) : `Default: ${plain(unset)}`)

const capital = (text: string): string => text.replace(/^[a-z]/, (first) => first.toUpperCase())

/** Links without their addresses. */
const plain = (text: string): string => text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")

const described = (
  schema: JsonSchema.JsonSchema,
  path: ReadonlyArray<string>,
  rows: ReadonlyMap<string, Setting.Row>
): JsonSchema.JsonSchema => ({
  ...schema,
  ...objectOf(schema, "properties", (properties) => ({
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, inner]) => {
        const key = [...path, name]
        const row = rows.get(key.join("."))
        const own = described(Object(inner), key, rows)
        return [name, row === undefined ? own : { ...keywordsOf(row), ...own }]
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
