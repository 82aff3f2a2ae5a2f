/** Compares docs/configuration.md with the program. The settings themselves are in docs/settings.md, which is written from them. */
import { describe, expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { BuiltIn } from "@holdfast/providers"
import * as Environment from "../../src/config/reading/Environment.ts"
import { ROWS } from "../../src/config/reading/Settings.ts"
import * as SettingsPage from "../../tools/SettingsPage.ts"

const read = (name: string): string => readFileSync(new URL(`../../../../docs/${name}.md`, import.meta.url), "utf8")

const page = read("configuration")

/** Keys of other agents, each with the key here: the rows of one table. */
const elsewhere = Array.from(
  (/\| name elsewhere \|.*?\n\n/s.exec(page)?.[0] ?? "").matchAll(/^\| `(\w+)`.*?\| `([\w.]+)`/gm),
  ([, name = "", key = ""]) => [name, key] as const
)

describe("docs/settings.md", () => {
  it("is up to date", () => {
    expect(read("settings")).toBe(SettingsPage.make())
  })
})

describe("docs/configuration.md", () => {
  it.each(Environment.names)("or docs/settings.md has %s", (name) => {
    expect(page + read("settings")).toContain(`\`${name}\``)
  })

  it.each([...BuiltIn.builtIns, ...BuiltIn.otherFormats])(
    "has what is built in of $name",
    ({ apiKeyEnv, baseUrlEnv, defaultModel, name }) => {
      expect(page).toContain(
        `| \`${name}\` | ${apiKeyEnv.map((env) => `\`${env}\``).join(", ")} | \`${defaultModel}\` |`
      )
      if (baseUrlEnv !== undefined) expect(page).toContain(`\`${baseUrlEnv}\``)
    }
  )

  it.each(elsewhere)("replaces %s by a key that exists: %s", (_, key) => {
    expect(Array.from(ROWS.keys()).filter((known) => known === key || known.startsWith(`${key}.`))).not.toEqual([])
  })
})
