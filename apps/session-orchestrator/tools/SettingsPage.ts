/** Writes docs/settings.md: a table of the settings of each section, from their declarations. Pure. */
import { Setting } from "@holdfast/policy"
import type { Schema } from "effect"
import { Settings } from "../src/config/reading/Settings.ts"

/** The whole page. */
export const make = (settings: Schema.Constraint = Settings): string => {
  const sections = new Map<string, Array<Setting.Row>>()
  // A schedule is described once.
  for (const row of Array.from(Setting.rows(settings).values()).filter(
    ({ key }) => !key.startsWith("retry.reasons.*.schedule.")
  )) {
    const [section = ""] = row.key.split(".")
    sections.set(section, [...(sections.get(section) ?? []), row])
  }
  return (
    [INTRODUCTION, ...Array.from(sections, ([section, rows]) => `## ${section}\n\n${tablesOf(rows)}`)].join("\n\n") +
    "\n"
  )
}

// --- internal

const INTRODUCTION = `# Settings

Every key of \`holdfast.config.json\`, written by \`pnpm fix\` from \`config/reading/Settings.ts\`. [Configuration](configuration.md) has examples, and how keys work together.
A key with a variable or a flag can be set by these too: flags override variables, which override the file. \`*\` stands for a name that you choose.`

const PROFILES = ["overnight", "interactive", "cycling"]

/** Settings whose default depends on the profile have a table of their own. */
const tablesOf = (rows: ReadonlyArray<Setting.Row>): string => {
  const byProfile = rows.filter(({ profiles }) => profiles !== undefined)
  const others = rows.filter(({ profiles }) => profiles === undefined)
  return [
    ...(byProfile.length === 0
      ? []
      : [
          tableOf(
            ["key", "meaning", ...PROFILES.map((name) => `\`${name}\``)],
            byProfile,
            ({ profiles = [] }) => profiles
          )
        ]),
    ...(byProfile.length === 0 ? [] : ["The same in every profile:"]),
    tableOf(["key", "meaning", "default", "variable", "flag"], others, (row) => [
      defaultOf(row),
      code(row.env),
      code(row.flag)
    ])
  ].join("\n\n")
}

/** A table without the columns at its end that no row has a value for. */
const tableOf = (
  titles: ReadonlyArray<string>,
  rows: ReadonlyArray<Setting.Row>,
  cellsOf: (row: Setting.Row) => ReadonlyArray<string>
): string => {
  const lines = rows.map((row) => [`\`${row.key}\``, row.doc, ...cellsOf(row)])
  const width = Math.max(...lines.map((cells) => cells.findLastIndex((cell) => cell !== "") + 1))
  return [titles, titles.map(() => "---"), ...lines]
    .map((cells) => `| ${cells.slice(0, width).join(" | ")} |`)
    .join("\n")
}

const code = (text: string | undefined): string => (text === undefined ? "" : `\`${text}\``)

const defaultOf = ({ default: value, isRequired, unset }: Setting.Row): string =>
  value === undefined ? (unset ?? (isRequired ? "required" : "none")) : code(JSON.stringify(value))
