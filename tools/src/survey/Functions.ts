/** Measures functions by their lines, and counts casts. */
import type { Node } from "oxc-parser"
import { lineAt, type Parsed, walk } from "./Source.ts"

export interface FunctionLength {
  readonly name: string
  readonly path: string
  /** From 1. */
  readonly line: number
  /** From the first to the last, comments included. */
  readonly lines: number
}

/** All functions of a module. A function that begins in the same line as the function around it, or in the next, is one with it. */
export const functionsOf = (parsed: Parsed): ReadonlyArray<FunctionLength> => {
  const found: Array<FunctionLength> = []
  const lineOf = (offset: number): number => lineAt(parsed.text, offset)
  walk(parsed, (node, ancestors) => {
    if (!isFunction(node)) return
    const around = ancestors.find(isFunction)
    const line = lineOf(node.start)
    if (around !== undefined && line - lineOf(around.start) <= 1) return
    found.push({ name: nameOf(node, ancestors), path: parsed.path, line, lines: lineOf(node.end) - line + 1 })
  })
  return found
}

export interface Cast {
  readonly kind: "as" | "any" | "!"
  readonly path: string
  readonly line: number
}

/** Where a module overrules the compiler. `as const` overrules nothing. */
export const castsOf = (parsed: Parsed): ReadonlyArray<Cast> => {
  const found: Array<Cast> = []
  walk(parsed, (node) => {
    const kind = castIn(node)
    if (kind !== undefined) found.push({ kind, path: parsed.path, line: lineAt(parsed.text, node.start) })
  })
  return found
}

// --- internal

const isFunction = (node: Node): boolean =>
  node.type === "FunctionDeclaration" || node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression"

/** The name of a function, or of its variable or property. */
const nameOf = (node: Node, ancestors: ReadonlyArray<Node>): string => {
  for (const at of [node, ...ancestors]) {
    const name = ["id", "key"].map((key) => Reflect.get(at, key)?.name).find((name) => typeof name === "string")
    if (name !== undefined) return name
  }
  return "(no name)"
}

const castIn = (node: Node): Cast["kind"] | undefined => {
  switch (node.type) {
    case "TSAsExpression":
    case "TSTypeAssertion": {
      const type = node.typeAnnotation
      const isConst =
        type.type === "TSTypeReference" && type.typeName.type === "Identifier" && type.typeName.name === "const"
      return isConst ? undefined : "as"
    }
    case "TSAnyKeyword":
      return "any"
    case "TSNonNullExpression":
      return "!"
    default:
      return undefined
  }
}
