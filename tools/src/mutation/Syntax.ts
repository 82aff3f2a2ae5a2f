/** Parses a TypeScript source and visits the nodes that exist at run time. */
import { type Node, parseSync, visitorKeys } from "oxc-parser"

/** Calls `visit` for each node that is evaluated, outermost first; `ancestors` starts with the parent. */
export const visitRuntime = (
  path: string,
  text: string,
  visit: (node: Node, ancestors: ReadonlyArray<Node>) => void
): void => {
  const { errors, program } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors.map(({ message }) => message).join("; ")}`)
  const walk = (node: Node, ancestors: ReadonlyArray<Node>): void => {
    visit(node, ancestors)
    const inner = [node, ...ancestors]
    for (const child of childrenOf(node)) walk(child, inner)
  }
  walk(program, [])
}

// --- internal

/** Type syntax that contains an expression. Node removes all other type syntax. */
const wrappers: ReadonlySet<string> = new Set([
  "TSAsExpression",
  "TSSatisfiesExpression",
  "TSNonNullExpression",
  "TSTypeAssertion",
  "TSInstantiationExpression"
])

const childrenOf = (node: Node): ReadonlyArray<Node> => {
  if (wrappers.has(node.type)) return nodesIn(node, "expression")
  if (node.type.startsWith("TS") || node.type.startsWith("Import")) return []
  const keys = visitorKeys[node.type] ?? []
  return keys.filter((key) => !isName(node, key)).flatMap((key) => nodesIn(node, key))
}

/** The key of a property or a method is a name, not a value. */
const isName = (node: Node, key: string): boolean =>
  key === "key" && "computed" in node && node.computed === false && "key" in node

const nodesIn = (node: Node, key: string): ReadonlyArray<Node> => {
  const value: unknown = Reflect.get(node, key)
  return (Array.isArray(value) ? value : [value]).filter(isNode)
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value
