/**
 * Describes problems of a configuration for the person who has to correct it.
 *
 * A problem names its path, the value that was found there and the value that was expected. A value is never quoted if it may be a secret:
 * under an unknown key, in a token, in a header, in place of a variable's name, as the whole of a file. People paste keys into all of
 * these. Addresses are quoted without user and query.
 */
import { Quote } from "@holdfast/wire"
import { type SchemaAST, SchemaIssue } from "effect"
import * as DurationText from "../../base/text/DurationText.ts"
import type { TextPosition } from "./JsonText.ts"
import { nearest, question } from "./Nearest.ts"
import { ROWS } from "./Settings.ts"

/** One problem. */
export interface ConfigProblem {
  /** The path, such as `server.port` or `retry.schedule.delays[2]`, or the name of a variable. */
  readonly place: string
  /** The mistake, and the expected value: one sentence or two. */
  readonly message: string
  /** The position in the file; absent for other sources. */
  readonly position?: TextPosition
  /** It stops a service alone: a secret or a guard that other commands do without. */
  readonly isOfService?: true
}

/** A problem as one line. */
export const format = ({ message, place, position }: ConfigProblem): string =>
  position === undefined
    ? `${place}: ${message}`
    : `${place} (line ${position.line}, column ${position.column}): ${message}`

/** A path as JavaScript writes it. */
export const formatPath = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`
    const name = String(key)
    if (!/^[A-Za-z_$][\w$-]{0,59}$/.test(name)) return `${text}[${Quote.of(name)}]`
    return text === "" ? name : `${text}.${name}`
  }, "")

/**
 * The problems of a schema's issue.
 *
 * **Details**
 *
 * `place` names a path: a value from the environment has the name of its variable.
 */
export const fromIssue = (
  issue: SchemaIssue.Issue,
  input: unknown,
  place?: (path: ReadonlyArray<PropertyKey>) => string
): ReadonlyArray<ConfigProblem> => leavesOf(issue, []).map((leaf) => problemOf(leaf, input, place))

/** The paths of the mistakes of a schema's issue. */
export const pathsOf = (issue: SchemaIssue.Issue): ReadonlyArray<ReadonlyArray<PropertyKey>> =>
  leavesOf(issue, []).map(({ path }) => path)

/** The first problems of an issue as one text, with the number of further ones. For a sender of any value, such as a command. */
export const firstOf = (
  issue: SchemaIssue.Issue,
  input: unknown,
  place?: (path: ReadonlyArray<PropertyKey>) => string
): string => {
  const leaves = leavesOf(issue, [])
  const told = leaves.slice(0, MOST_TOLD).map((leaf) => format(problemOf(leaf, input, place)))
  const more = leaves.length - told.length
  return [...told, ...(more > 0 ? [`And ${more} more.`] : [])].join(" ")
}

// --- internal

/** The most problems in one text; a person reads fewer. */
const MOST_TOLD = 20

const problemOf = (leaf: Leaf, input: unknown, place = formatPath): ConfigProblem => ({
  place: leaf.path.length === 0 ? "the whole" : place(leaf.path),
  message: messageOf(leaf, input)
})

interface Leaf {
  readonly path: ReadonlyArray<PropertyKey>
  readonly issue: SchemaIssue.Issue
  /** The expectation of the nearest enclosing check. */
  readonly override?: string
}

const leavesOf = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<PropertyKey>,
  override?: string
): ReadonlyArray<Leaf> => {
  switch (issue._tag) {
    case "Pointer":
      return leavesOf(issue.issue, [...path, ...issue.path], override)
    case "Encoding":
      return leavesOf(issue.issue, path, override)
    case "Filter":
      return leavesOf(issue.issue, path, override ?? SchemaIssue.defaultCheckHook(issue) ?? expectedBy(issue))
    case "Composite":
      return issue.issues.flatMap((inner) => leavesOf(inner, path, override))
    case "AnyOf":
      return issue.issues.length === 0
        ? [leafOf(issue, path, override)]
        : issue.issues.flatMap((inner) => leavesOf(inner, path, override))
    default:
      return [leafOf(issue, path, override)]
  }
}

/** The expectation of a check that has no message. */
const expectedBy = ({ filter, issue }: SchemaIssue.Filter): string | undefined => {
  const expected = issue._tag === "InvalidValue" ? filter.annotations?.["expected"] : undefined
  return typeof expected === "string" ? `Expected ${expected}` : undefined
}

const leafOf = (issue: SchemaIssue.Issue, path: ReadonlyArray<PropertyKey>, override: string | undefined): Leaf =>
  override === undefined ? { path, issue } : { path, issue, override }

const formatLeaf = SchemaIssue.makeFormatterDefault()

const messageOf = ({ issue, override, path }: Leaf, input: unknown): string => {
  if (issue._tag === "UnexpectedKey") return unknownKey(issue, path)
  if (issue._tag === "MissingKey") return "missing."
  const said = override ?? formatLeaf(issue)
  // A check that is not about a value has a complete message.
  if (!said.startsWith("Expected ")) return said
  const told = said.slice("Expected ".length)
  const expected = TYPES[told] ?? told
  const found = valueAt(input, path)
  const hint = suggestionFor(found, expected) || (issue._tag === "InvalidType" ? placeFor(found, issue.ast) : "")
  return `found ${isSecretPlace(path, found) ? kindOf(found) : shown(withoutKeys(found))}; expected ${expected}.${hint}`
}

/** The schema's names of plain types, in words for people. */
const TYPES: { readonly [type: string]: string } = {
  boolean: "true or false",
  string: "a string",
  number: "a number",
  object: "an object",
  array: "a list"
}

const unknownKey = (issue: SchemaIssue.UnexpectedKey, path: ReadonlyArray<PropertyKey>): string => {
  const known = issue.ast._tag === "Objects" ? issue.ast.propertySignatures.map(({ name }) => String(name)) : []
  const visible = known.filter((name) => !name.startsWith("$"))
  const others = visible.length === 0 ? "" : ` Known here: ${visible.join(", ")}.`
  return `unknown key.${question(String(path.at(-1)), known)}${others}`
}

/** Suggests a quoted word of the expectation that is near; also spells out abbreviated durations. */
const suggestionFor = (found: unknown, expected: string): string => {
  if (typeof found !== "string") return ""
  const near = expected.includes("duration")
    ? DurationText.spelledOut(found)
    : nearest(
        found,
        Array.from(expected.matchAll(/"([^"]*)"/g), (match) => match[1] ?? "").filter((word) => /^[a-z-]+$/.test(word))
      )
  return near === undefined || near === found ? "" : ` Did you mean ${JSON.stringify(near)}?`
}

/** The key of an object that a text was meant for, which stands in the object's place: `"retry": "overnight"`. */
const placeFor = (found: unknown, ast: SchemaAST.AST): string => {
  if (typeof found !== "string" || ast._tag !== "Objects") return ""
  for (const { name, type } of ast.propertySignatures) {
    const near = nearest(found, wordsOf(type))
    if (near !== undefined) return ` Did you mean { ${JSON.stringify(String(name))}: ${JSON.stringify(near)} }?`
  }
  return ""
}

const wordsOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  ast._tag === "Union"
    ? ast.types.flatMap(wordsOf)
    : ast._tag === "Literal" && typeof ast.literal === "string"
      ? [ast.literal]
      : []

/** The names of settings that are secret. */
const SECRET_KEYS = new Set<PropertyKey>(
  Array.from(ROWS.values()).flatMap(({ isSecret, key }) =>
    isSecret === true ? [key.slice(key.lastIndexOf(".") + 1)] : []
  )
)

const isSecretPlace = (path: ReadonlyArray<PropertyKey>, found: unknown): boolean =>
  path.some((key) => SECRET_KEYS.has(key)) || (path.length === 0 && typeof found === "string")

/** An address without its user and its query; any other value as it is. */
const withoutKeys = (value: unknown): unknown =>
  typeof value === "string"
    ? value.replace(/:\/\/[^/?#]*@/, "://...@").replace(/(:\/\/[^?#]*)\?[^#]*/, "$1?...")
    : value

const shown = (value: unknown): string => {
  if (typeof value === "string") return Quote.of(value)
  return typeof value === "object" || value === undefined ? kindOf(value) : JSON.stringify(value)
}

const kindOf = (value: unknown): string => {
  if (value === undefined) return "nothing"
  if (value === null) return "null"
  if (Array.isArray(value)) return "a list"
  if (typeof value === "object") return "an object"
  if (typeof value === "string") return value === "" ? "an empty string" : `a string of ${value.length} characters`
  return `a ${typeof value}`
}

const valueAt = (input: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>((value, key) => Object.getOwnPropertyDescriptor(Object(value), key)?.value, input)
