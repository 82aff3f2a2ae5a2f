/** Parses a TypeScript source once for all measures, and walks its nodes. */
import { type Comment, type Node, type Program, parseSync, visitorKeys } from "oxc-parser"

export interface Source {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

export interface Parsed extends Source {
  readonly program: Program
  readonly comments: ReadonlyArray<Comment>
}

/** Throws when the text is not TypeScript. */
export const parse = ({ path, text }: Source): Parsed => {
  const { comments, errors, program } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors.map(({ message }) => message).join("; ")}`)
  return { path, text, program, comments }
}

/** Calls `visit` for every node, types included, outermost first; `ancestors` starts with the parent. */
export const walk = ({ program }: Parsed, visit: (node: Node, ancestors: ReadonlyArray<Node>) => void): void => {
  const descend = (node: Node, ancestors: ReadonlyArray<Node>): void => {
    visit(node, ancestors)
    const inner = [node, ...ancestors]
    for (const key of visitorKeys[node.type] ?? [])
      for (const child of [Reflect.get(node, key)].flat()) if (isNode(child)) descend(child, inner)
  }
  descend(program, [])
}

/** The line of an offset, from 1. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

/** Lines with code on them: neither blank nor a comment alone. */
export const codeLines = ({ comments, text }: Parsed): number => {
  const code = comments.toReversed().reduce((text, { end, start }) => {
    const blank = text.slice(start, end).replaceAll(/[^\n]/g, " ")
    return text.slice(0, start) + blank + text.slice(end)
  }, text)
  return code.split("\n").filter((line) => line.trim() !== "").length
}

// --- internal

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value
