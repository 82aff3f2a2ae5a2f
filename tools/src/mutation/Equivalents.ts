/**
 * Changes that no test can notice, and that the mutation runner therefore passes over.
 *
 * Equivalents.E1. Every entry has the reason why the changed program behaves the same.
 * Equivalents.E2. A rule describes a shape of code. A single place is listed by its text, so that it survives a moved line; an
 *                 entry that matches nothing any more is reported by the runner.
 */
import { readFileSync } from "node:fs"
import type { Node } from "oxc-parser"
import * as Operators from "./Operators.ts"

export interface Rule {
  readonly reason: string
  readonly covers: (proposal: Operators.Proposal, node: Node, ancestors: ReadonlyArray<Node>, text: string) => boolean
}

/** Shapes of code. */
export const rules: ReadonlyArray<Rule> = [
  {
    reason: "`a < b ? a : b`: both operands are the result when they are equal",
    covers: ({ operator }, node, [parent], text) => {
      if (operator !== "boundary" || node.type !== "BinaryExpression") return false
      if (parent?.type !== "ConditionalExpression" || parent.test !== node) return false
      const operands = [node.left, node.right].map((side) => text.slice(side.start, side.end))
      const results = [parent.consequent, parent.alternate].map((side) => text.slice(side.start, side.end))
      return operands.toSorted().join("\n") === results.toSorted().join("\n")
    }
  },
  {
    reason: "`x satisfies never` as a statement: the compiler checks it, and nothing runs",
    covers: (_, node) => node.type === "ExpressionStatement" && node.expression.type === "TSSatisfiesExpression"
  },
  {
    reason:
      "`break` at the end of the last case that does something, `continue` at the end of a loop, `return` at the end of a function, or before `default: return x satisfies never`",
    covers: (_, node, [parent, above]) => {
      if (node.type === "BreakStatement" && node.label === null && parent?.type === "SwitchCase") {
        const cases = above?.type === "SwitchStatement" ? above.cases : []
        const last = cases.findLast(({ consequent }) => consequent.length > 0)
        return last === parent && parent.consequent.at(-1) === node
      }
      if (parent?.type === "SwitchCase" && above?.type === "SwitchStatement") {
        const next = above.cases[above.cases.indexOf(parent) + 1]?.consequent[0]
        if (node.type !== "ReturnStatement" || next?.type !== "ReturnStatement") return false
        return node.argument === null && next.argument?.type === "TSSatisfiesExpression"
      }
      if (parent?.type !== "BlockStatement") return false
      if (parent.body.at(-1) !== node) return false
      if (node.type === "ContinueStatement" && node.label === null) return isLoop(above)
      return node.type === "ReturnStatement" && node.argument === null && isFunction(above)
    }
  },
  {
    reason:
      "`true` in a table of type `Record<…, true>`: the compiler lets no other value in, so only the keys are read",
    covers: ({ operator }, node, [property, table, declarator], text) => {
      if (operator !== "constant" || node.type !== "Literal" || node.value !== true) return false
      if (property?.type !== "Property" || table?.type !== "ObjectExpression") return false
      if (declarator?.type !== "VariableDeclarator") return false
      return /, true>+$/.test(text.slice(declarator.id.start, declarator.id.end))
    }
  },
  {
    reason: "`a < b ? -1 : 1`: only the sign of a comparison is read",
    covers: ({ operator }, node, [above, ...others], text) => {
      const [whole, ...outer] = above?.type === "UnaryExpression" ? others : [above, ...others]
      if (operator !== "constant" || node.type !== "Literal" || whole?.type !== "ConditionalExpression") return false
      const results = [whole.consequent, whole.alternate].map((side) => text.slice(side.start, side.end))
      return /^-?1 -?1$/.test(results.join(" ")) && results[0] !== results[1] && outer.some(isOrder)
    }
  },
  {
    reason:
      "a `const` of a module named `PAGE` or `…AT_ONCE`: how many are taken at once is a matter of memory and time",
    covers: ({ operator }, node, ancestors) => {
      if (operator !== "constant" || node.type !== "Literal") return false
      const [declarator, , owner] = ancestors.filter(({ type }) => type !== "BinaryExpression")
      if (declarator?.type !== "VariableDeclarator" || declarator.id.type !== "Identifier") return false
      return owner?.type === "Program" && /^(?:PAGE|(?:[A-Z]+_)?AT_ONCE)$/.test(declarator.id.name)
    }
  },
  {
    reason: "`discard: true`: it only saves the memory of results that are not read",
    covers: ({ operator }, _, [parent]) =>
      operator === "constant" &&
      parent?.type === "Property" &&
      parent.key.type === "Identifier" &&
      parent.key.name === "discard"
  }
]

/** A single place. */
export interface Listed {
  readonly path: string
  readonly operator: Operators.Name
  /** The code that is changed, with each run of blanks as one. */
  readonly before: string
  /** The line that the change begins on, without its indentation. */
  readonly line: string
  readonly reason: string
}

/** Those of `equivalents.txt`, which begins with how it is written. */
export const listed: ReadonlyArray<Listed> = read(readFileSync(new URL("equivalents.txt", import.meta.url), "utf8"))

/** Why a proposal is passed over; `undefined` when it is not. */
export const reasonFor = (
  proposal: Operators.Proposal,
  node: Node,
  ancestors: ReadonlyArray<Node>,
  path: string,
  text: string
): string | undefined => {
  const rule = rules.find(({ covers }) => covers(proposal, node, ancestors, text))
  if (rule !== undefined) return rule.reason
  const before = oneLine(text.slice(proposal.start, proposal.end))
  const line = text
    .slice(text.lastIndexOf("\n", proposal.start) + 1)
    .split("\n", 1)[0]
    ?.trim()
  const isIt = (entry: Listed) =>
    entry.path === path && entry.operator === proposal.operator && entry.before === before && entry.line === line
  return listed.find(isIt)?.reason
}

/** Code on one line. */
export const oneLine = (code: string): string => code.replaceAll(/\s+/g, " ").trim()

// --- internal

function read(text: string): ReadonlyArray<Listed> {
  const entries: Array<Listed> = []
  let path = ""
  let places: Array<Omit<Listed, "reason">> = []
  for (const [n, line] of text.split("\n").entries()) {
    const [, key = "", value = ""] = /^ +(\w+): (.+)$/.exec(line) ?? []
    const operator = Operators.names.find((name) => name === key)
    const last = places.at(-1)
    if (operator !== undefined) places.push({ path, operator, before: value, line: value })
    else if (key === "in" && last !== undefined) places.splice(-1, 1, { ...last, line: value })
    else if (key === "why" && last !== undefined) {
      for (const place of places) entries.push({ ...place, reason: value })
      places = []
    } else if (/^\w\S+\.ts$/.test(line) && last === undefined) path = line
    else if (line !== "" && !line.startsWith("#"))
      throw new Error(`equivalents.txt:${n + 1}: found \`${line}\`; expected a path, a place, or its line and reason.`)
  }
  if (places.length > 0) throw new Error(`equivalents.txt: ${path} ends without a reason.`)
  return entries
}

/** The function by which a list is sorted. */
const isOrder = (node: Node | undefined): boolean =>
  node?.type === "CallExpression" &&
  node.callee.type === "MemberExpression" &&
  node.callee.property.type === "Identifier" &&
  /^(?:toSorted|sort)$/.test(node.callee.property.name)

const isLoop = (node: Node | undefined): boolean =>
  node !== undefined && /^(?:For|While|DoWhile|ForOf|ForIn)Statement$/.test(node.type)

const isFunction = (node: Node | undefined): boolean =>
  node !== undefined && /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)
