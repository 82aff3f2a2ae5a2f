import { describe, expect, it } from "@effect/vitest"
import { Schema, type SchemaAST } from "effect"
import { readFileSync } from "node:fs"
import { BuiltIn } from "@holdfast/providers"
import * as Environment from "../../src/config/reading/Environment.ts"
import { Settings, PARSE_OPTIONS } from "../../src/config/reading/Settings.ts"

const builtIns = [...BuiltIn.builtIns, ...BuiltIn.otherFormats]

const page = readFileSync(new URL("../../../../docs/configuration.md", import.meta.url), "utf8")

/** Keys of other agents, each with the key here: the rows of one table. */
const elsewhere = Array.from(
  (/\| name elsewhere \|.*?\n\n/s.exec(page)?.[0] ?? "").matchAll(/^\| `(\w+)`.*?\| `([\w.]+)`/gm),
  ([, name = "", key = ""]) => [name, key] as const
)

/** The paths of all keys of a schema; `*` stands for a configured name. */
const keysOf = (ast: SchemaAST.AST, path: ReadonlyArray<string> = []): ReadonlyArray<string> => {
  if (ast._tag === "Union") return ast.types.flatMap((member) => keysOf(member, path))
  if (ast._tag !== "Objects") return []
  const own = ast.propertySignatures.flatMap(({ name, type }) => {
    const key = [...path, String(name)]
    const inside = keysOf(type, key)
    return isSection(type) ? inside : [key.join("."), ...inside]
  })
  return [...own, ...ast.indexSignatures.flatMap(({ type }) => keysOf(type, [...path, "*"]))]
}

/** An object of fixed keys is described by its keys. */
const isSection = (ast: SchemaAST.AST): boolean => ast._tag === "Objects"

const all = Array.from(new Set(keysOf(Schema.toEncoded(Settings).ast)))

/** A schedule is described once. */
const keys = all.filter((key) => !key.startsWith("retry.reasons.*.schedule."))

/** Records, whose keys are not in the schema. */
const RECORDS = [
  "retry.reasons",
  "systemPrompts",
  "providers.*.headers",
  "providers.*.body",
  "providers.*.options",
  "models.*.body",
  "retry.routing.chains",
  "retry.finalReport.schema",
  "tools.*.headers",
  "tools.*.env",
  "telemetry.otlp.headers",
  "telemetry.notifications.headers"
]

describe("docs/configuration.md", () => {
  it("the schema has keys", () => {
    expect(keys).toContain("server.port")
    expect(keys).toContain("providers.*.apiKeyEnv")
    expect(keys).toContain("retry.schedule.tail")
  })

  it.each([...keys, ...RECORDS])("has a row for %s", (key) => {
    expect(page).toContain(`\n| \`${key}\` |`)
  })

  it("has a row for no key that does not exist", () => {
    const rows = Array.from(page.matchAll(/^\| `([a-z$][\w$.*]*)` \|/gm), ([, key]) => key ?? "")
    const others = [...builtIns.map(({ name }) => name), ...elsewhere.map(([name]) => name)]
    const known = new Set([...keys, ...RECORDS, ...others])
    expect(rows.filter((row) => !known.has(row))).toEqual([])
  })

  it.each(Environment.names)("has %s", (name) => {
    expect(page).toContain(`\`${name}\``)
  })

  it.each(builtIns)("has what is built in of $name", ({ apiKeyEnv, baseUrlEnv, defaultModel, name }) => {
    expect(page).toContain(`| \`${name}\` | ${apiKeyEnv.map((env) => `\`${env}\``).join(", ")} | \`${defaultModel}\` |`)
    if (baseUrlEnv !== undefined) expect(page).toContain(`\`${baseUrlEnv}\``)
  })

  it.each(elsewhere)("replaces %s by a key that exists: %s", (_, key) => {
    expect([...keys, ...RECORDS].filter((known) => known === key || known.startsWith(`${key}.`))).not.toEqual([])
  })

  const examples = Array.from(page.matchAll(/```json\n(.*?)```/gs), ([, json]) => json ?? "")

  it.each(examples)("every example is a configuration: %s", (json) => {
    expect(() => Schema.decodeUnknownSync(Settings, PARSE_OPTIONS)(JSON.parse(json))).not.toThrow()
  })
})
