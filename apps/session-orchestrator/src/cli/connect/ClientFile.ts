/**
 * Sets one value in the text of a client's own configuration, and takes it out again.
 *
 * All other text stays as it is, byte for byte: comments, order, indentation, line endings.
 */
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  type Node,
  type ParseError,
  parseTree
} from "jsonc-parser"
import { isDeepStrictEqual } from "node:util"

/** Where a client keeps its base URL. */
export interface FilePlace {
  /** Below the home directory. */
  readonly file: string
  readonly format: "json" | "toml" | "env"
  /** The client reads a file of the same name that ends in `.jsonc`, too. */
  readonly hasComments?: boolean
  /** A path of names; one name in the formats of lines. */
  readonly key: ReadonlyArray<string>
}

/** A value. In the formats of lines it is a text. */
export type Value = string | Readonly<Record<string, unknown>>

/** The value; `undefined`: there is none. */
export const get = ({ format, key }: FilePlace, text: string): Value | undefined => {
  if (format !== "json") return lineOf(format, key, text)?.value
  const tree = parseTree(text)
  const node = tree && findNodeAtLocation(tree, [...key])
  return node && valueOf(node)
}

/** Whether JSON has the object that the value belongs to. */
export const has = ({ key }: FilePlace, text: string): boolean => {
  const tree = parseTree(text)
  return tree !== undefined && findNodeAtLocation(tree, key.slice(0, -1)) !== undefined
}

/** The text with a value, or without one; `undefined`: the text is not of the place's format. */
export const set = (place: FilePlace, text: string, value: Value | undefined): string | undefined => {
  const { format, key } = place
  const eol = text.includes("\r\n") ? "\r\n" : "\n"
  if (format === "json") return setJson(key, text.trim() === "" ? `{}${eol}` : text, value, eol)
  const known = lineOf(format, key, text)
  const written = format === "toml" ? JSON.stringify(value) : String(value)
  if (known !== undefined) {
    return value === undefined
      ? text.slice(0, known.start) + text.slice(known.end)
      : text.slice(0, known.from) + written + text.slice(known.to)
  }
  if (value === undefined) return text
  const line = `${key.join(".")}${format === "toml" ? " = " : "="}${written}${eol}`
  // A top-level key of TOML stands before the first table.
  return format === "toml" ? line + text : `${text}${text === "" || text.endsWith("\n") ? "" : eol}${line}`
}

// --- internal

/** With the prototype of other objects, so that it can be compared. */
const valueOf = (node: Node): Value => structuredClone(getNodeValue(node))

const setJson = (key: ReadonlyArray<string>, text: string, value: Value | undefined, eol: string) => {
  const errors: Array<ParseError> = []
  const tree = parseTree(text, errors, { allowTrailingComma: true })
  if (tree?.type !== "object" || errors.length > 0) return undefined
  // Without formatting options `modify` changes nothing but the value, or the member that goes.
  const known = findNodeAtLocation(tree, [...key])
  const isKnown = known !== undefined
  if (isKnown && isDeepStrictEqual(valueOf(known), value)) return text
  if (isKnown || value === undefined) return isKnown ? applyEdits(text, modify(text, [...key], value, {})) : text
  let depth = key.length - 1
  while (findNodeAtLocation(tree, key.slice(0, depth)) === undefined) depth-- // without names it is the tree
  const object = findNodeAtLocation(tree, key.slice(0, depth))
  return object?.type === "object" ? withMember(text, object, key.slice(depth), value, eol) : undefined
}

/** The text with one more member at the end of an object, in the form of the others. */
const withMember = (text: string, object: Node, names: ReadonlyArray<string>, value: Value, eol: string): string => {
  const unit = /^([ \t]+)\S/mu.exec(text)?.[1] ?? "  "
  const last = object.children?.at(-1)
  const outer = indentAt(text, object.offset) ?? /^[ \t]*/u.exec(text.slice(lineStart(text, object.offset)))?.[0] ?? ""
  const indent = last === undefined ? outer + unit : indentAt(text, last.offset)
  if (last === undefined) {
    const inside = text.slice(object.offset + 1, object.offset + object.length - 1).trimEnd()
    const before = text.slice(0, object.offset + 1) + inside
    return `${before}${eol}${indent}${memberOf(names, value, outer + unit, unit, eol)}${eol}${outer}${text.slice(object.offset + object.length - 1)}`
  }
  const end = last.offset + last.length
  if (indent === undefined) return `${text.slice(0, end)}, ${memberOf(names, value)}${text.slice(end)}`
  // A comment at the end of the last member's line stays with it, and so does a comma after it.
  const [rest = "", comma = "", comment = ""] =
    /^([ \t]*,)?([ \t]*(?:\/\/[^\r\n]*)?)(?=\r?\n)/u.exec(text.slice(end)) ?? []
  const member = memberOf(names, value, indent, unit, eol)
  return `${text.slice(0, end)},${comment}${eol}${indent}${member}${comma === "" ? "" : ","}${text.slice(end + rest.length)}`
}

/** `names` nested in each other; on one line without an indentation. */
const memberOf = (
  [name = "", ...inner]: ReadonlyArray<string>,
  value: Value,
  indent?: string,
  unit = "",
  eol = ""
): string => {
  if (inner.length === 0) return `${JSON.stringify(name)}: ${JSON.stringify(value, null, 1).replaceAll(/\n\s*/gu, " ")}`
  if (indent === undefined) return `${JSON.stringify(name)}: { ${memberOf(inner, value)} }`
  const deeper = indent + unit
  return `${JSON.stringify(name)}: {${eol}${deeper}${memberOf(inner, value, deeper, unit, eol)}${eol}${indent}}`
}

const lineStart = (text: string, at: number): number => text.lastIndexOf("\n", at - 1) + 1

/** The blanks before a place, if nothing else stands before it on its line. */
const indentAt = (text: string, at: number): string | undefined => {
  const before = text.slice(lineStart(text, at), at)
  return /^[ \t]*$/u.test(before) ? before : undefined
}

/** The line of a key: its start and end, and where its value stands, with its quotes. */
const lineOf = (format: FilePlace["format"], key: ReadonlyArray<string>, text: string) => {
  const [top = ""] = format === "toml" ? text.split(/^[ \t]*\[/mu, 1) : [text]
  const found = new RegExp(
    `^([ \\t]*(?:export )?${key.join("\\.")}[ \\t]*=[ \\t]*)("[^"\\r\\n]*"|'[^'\\r\\n]*'|[^\\r\\n#]*?)[ \\t]*(?:#[^\\r\\n]*)?(?:\\r?\\n|$)`,
    "mu"
  ).exec(top)
  if (found === null) return undefined
  const [line, name = "", written = ""] = found
  const from = found.index + name.length
  const value = written.replace(/^(["'])(.*)\1$/u, "$2")
  return { start: found.index, end: found.index + line.length, from, to: from + written.length, value }
}
