/**
 * Sets one value in the text of a client's own configuration, and takes it out again.
 *
 * ClientFile.F1. All other text stays as it is: comments, order and indentation.
 */
import { applyEdits, findNodeAtLocation, modify, parseTree } from "jsonc-parser"

/** Where a client keeps its base URL. */
export interface Place {
  /** Below the home directory. */
  readonly file: string
  readonly format: "json" | "toml" | "env"
  /** A path of names; one name in the formats of lines. */
  readonly key: ReadonlyArray<string>
}

/** The value; `undefined`: there is none. */
export const get = ({ format, key }: Place, text: string): string | undefined => {
  if (format !== "json") return unquoted(lineOf(format, key, text)?.value)
  const tree = parseTree(text)
  const value: unknown = tree && findNodeAtLocation(tree, [...key])?.value
  return typeof value === "string" ? value : undefined
}

/** Whether JSON has the object that the value belongs to. */
export const has = ({ key }: Place, text: string): boolean => {
  const tree = parseTree(text)
  return tree !== undefined && findNodeAtLocation(tree, key.slice(0, -1)) !== undefined
}

/** The text with a value; `undefined` takes it out. */
export const set = (place: Place, text: string, value: string | undefined): string => {
  const { format, key } = place
  if (format === "json") {
    const whole = text.trim() === "" ? "{}\n" : text
    return applyEdits(
      whole,
      modify(whole, [...key], value, { formattingOptions: { insertSpaces: true, tabSize: 2, eol: "\n" } })
    )
  }
  const known = lineOf(format, key, text)
  const line =
    value === undefined ? "" : format === "toml" ? `${nameOf(key)} = "${value}"\n` : `${nameOf(key)}=${value}\n`
  if (known !== undefined) return text.slice(0, known.start) + line + text.slice(known.end)
  // A top-level key of TOML stands before the first table.
  return format === "toml" ? line + text : `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${line}`
}

// --- internal

const nameOf = (key: ReadonlyArray<string>): string => key.join(".")

const lineOf = (format: Place["format"], key: ReadonlyArray<string>, text: string) => {
  const table = format === "toml" ? text.search(/^\s*\[/mu) : -1
  const top = table === -1 ? text : text.slice(0, table)
  const found = new RegExp(`^[ \\t]*(?:export )?${nameOf(key)}[ \\t]*=[ \\t]*(.*)(?:\\n|$)`, "mu").exec(top)
  return found === null
    ? undefined
    : { start: found.index, end: found.index + found[0].length, value: (found[1] ?? "").trim() }
}

const unquoted = (value: string | undefined): string | undefined => value?.replace(/^(["'])(.*)\1$/u, "$2")
