/**
 * The mutation operators: each proposes changes of one syntax node.
 *
 * Operators.O1. A proposal always parses: it replaces an expression by an expression, or a statement by a statement.
 * Operators.O2. No two proposals of one node produce the same program. An `if` or `?:` on a bare comparison has no
 *               swapped branch, because the negated comparison is that program.
 */
import type { Node } from "oxc-parser"

/** The names of the operators. */
export const names = ["comparison", "boundary", "dropped", "branch", "constant"] as const

/** The name of an operator. */
export type Name = (typeof names)[number]

/** What each operator does, for `--help` and the docs. */
export const descriptions: { readonly [name in Name]: string } = {
  comparison: "negates a comparison: `===` to `!==`, `<` to `>=`, and so on",
  boundary: "moves the edge of a comparison: `<` to `<=`, `>=` to `>`, and so on",
  dropped:
    "drops a statement: a call, an assignment, `yield*`, `throw`, `break`, `continue`, `return`; `return yield* e` returns without `e`",
  branch: "swaps the branches of `if` and `?:`, and exchanges `&&` and `||`",
  constant: "changes a literal: a number by one, from 1,000 on to its double, `true` to `false`, `false` to `true`"
}

/** A change of the text from `start` to `end`. `point` is the span whose evaluation reaches the change. */
export interface Proposal {
  readonly operator: Name
  readonly start: number
  readonly end: number
  readonly replacement: string
  readonly point: Point
}

export interface Point {
  readonly kind: "expression" | "statement"
  readonly start: number
  readonly end: number
}

/** The changes that the operators propose for one node. */
export const proposalsFor = (node: Node, text: string): ReadonlyArray<Proposal> => {
  switch (node.type) {
    case "BinaryExpression": {
      const replaced = (operator: Name, table: Table) => {
        const other = table[node.operator]
        return other === undefined ? [] : [replaceOperator(operator, node, other, text)]
      }
      return [...replaced("comparison", negated), ...replaced("boundary", moved)]
    }
    case "LogicalExpression": {
      const other = exchanged[node.operator]
      return other === undefined ? [] : [replaceOperator("branch", node, other, text)]
    }
    case "IfStatement":
    case "ConditionalExpression":
      return isComparison(node.test) ? [] : [whole("branch", node.test, `!(${textOf(node.test, text)})`)]
    case "Literal":
      return constants(node)
    case "ReturnStatement": {
      if (node.argument === null) return [drop(node)]
      if (node.argument.type !== "YieldExpression" || !node.argument.delegate) return []
      return [whole("dropped", node.argument, "undefined")]
    }
    case "ExpressionStatement":
    case "ThrowStatement":
    case "BreakStatement":
    case "ContinueStatement":
      return [drop(node)]
    default:
      return []
  }
}

// --- internal

type Table = { readonly [operator: string]: string | undefined }

const negated: Table = {
  "===": "!==",
  "!==": "===",
  "==": "!=",
  "!=": "==",
  "<": ">=",
  ">=": "<",
  ">": "<=",
  "<=": ">"
}

const moved: Table = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" }

/** `??` has no counterpart: its operands are a value and its default. */
const exchanged: Table = { "&&": "||", "||": "&&" }

/** A number from here on is a limit or a time: off by one is no likely mistake there. */
const LARGE = 1000

const isComparison = (node: Node): boolean => node.type === "BinaryExpression" && negated[node.operator] !== undefined

const textOf = ({ end, start }: Node, text: string): string => text.slice(start, end)

const whole = (operator: Name, node: Node, replacement: string): Proposal => ({
  operator,
  start: node.start,
  end: node.end,
  replacement,
  point: { kind: "expression", start: node.start, end: node.end }
})

/** Parentheses keep the tree as it is: `||` binds weaker than `&&`. */
const replaceOperator = (
  operator: Name,
  node: Extract<Node, { readonly left: Node; readonly right: Node; readonly operator: string }>,
  other: string,
  text: string
): Proposal => {
  const [left, right] = [node.left, node.right].map((side) =>
    side.type === "LogicalExpression" ? `(${textOf(side, text)})` : textOf(side, text)
  )
  return whole(operator, node, `(${left} ${other} ${right})`)
}

const drop = (node: Node): Proposal => ({
  operator: "dropped",
  start: node.start,
  end: node.end,
  replacement: ";",
  point: { kind: "statement", start: node.start, end: node.end }
})

const constants = (node: Extract<Node, { readonly type: "Literal" }>): ReadonlyArray<Proposal> => {
  const { value } = node
  if (typeof value === "boolean") return [whole("constant", node, String(!value))]
  if (typeof value === "number") return [whole("constant", node, String(value < LARGE ? value + 1 : value * 2))]
  return typeof value === "bigint" ? [whole("constant", node, `${value + 1n}n`)] : []
}
