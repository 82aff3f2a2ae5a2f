/**
 * Lists what a module exports, and whether each export has a doc comment.
 *
 * Exports.E1. A re-export of another module does not count: its doc comment stands where it is declared.
 * Exports.E2. Declarations of one name (a type and its schema, overloads) are one export; one doc comment is enough for it, also on
 *     a declaration of that name that is not exported.
 */
import type { Directive, Node, Statement, TSTypeAliasDeclaration } from "oxc-parser"
import { lineAt, type Parsed } from "./Source.ts"

type Kind = "type" | "value" | "re-export"

export interface Export {
  readonly name: string
  /**
   * A type is an interface, a type alias or a class, also when a value has the same name. A type that is another module's of the same name
   * (`type Failure = Failures.Failure`) is a `re-export`: it declares nothing.
   */
  readonly kind: Kind
  readonly path: string
  /** From 1. */
  readonly line: number
  readonly isDocumented: boolean
}

/** The exports of a module by name, in the order of the text. */
export const exportsOf = (parsed: Parsed): ReadonlyArray<Export> => {
  const found = new Map<string, Export>()
  const documented = new Set<string>()
  const apart = namesExportedApart(parsed)
  for (const statement of parsed.program.body) {
    const exported = statement.type === "ExportNamedDeclaration" ? statement.declaration : undefined
    const declaration = exported ?? statement
    for (const { kind, name } of namesOf(declaration)) {
      if (isDocumented(parsed, statement.start)) documented.add(name)
      if ((exported === undefined || exported === null) && !apart.has(name)) continue
      const before = found.get(name)
      found.set(name, {
        name,
        kind: before === undefined || before.kind === "value" ? kind : before.kind,
        path: parsed.path,
        line: before?.line ?? lineAt(parsed.text, statement.start),
        isDocumented: false
      })
    }
  }
  return Array.from(found.values(), (one) => ({ ...one, isDocumented: documented.has(one.name) })) // Exports.E2
}

/** Modules that a module imports or re-exports, as they are written. */
export const importsOf = ({ program, text }: Parsed): ReadonlyArray<{ readonly from: string; readonly line: number }> =>
  program.body.flatMap((statement) => {
    const isImport =
      statement.type === "ImportDeclaration" ||
      statement.type === "ExportAllDeclaration" ||
      (statement.type === "ExportNamedDeclaration" && statement.source !== null)
    return isImport && statement.source !== null
      ? [{ from: statement.source.value, line: lineAt(text, statement.start) }]
      : []
  })

// --- internal

interface Named {
  readonly name: string
  readonly kind: Kind
}

const namesOf = (node: Statement | Directive | Node): ReadonlyArray<Named> => {
  switch (node.type) {
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [{ name: id.name, kind: "value" }] : []))
    case "FunctionDeclaration":
    case "TSDeclareFunction":
      return node.id === null ? [] : [{ name: node.id.name, kind: "value" }]
    case "ClassDeclaration":
      return node.id === null ? [] : [{ name: node.id.name, kind: "type" }]
    case "TSInterfaceDeclaration":
      return [{ name: node.id.name, kind: "type" }]
    case "TSTypeAliasDeclaration":
      return [{ name: node.id.name, kind: isReexport(node) ? "re-export" : "type" }]
    default:
      return []
  }
}

const isReexport = ({ id, typeAnnotation: type }: TSTypeAliasDeclaration): boolean =>
  type.type === "TSTypeReference" &&
  type.typeArguments === null &&
  type.typeName.type === "TSQualifiedName" &&
  type.typeName.right.name === id.name

/** Local names in `export { a, b }` without `from` (Exports.E1). */
const namesExportedApart = ({ program }: Parsed): ReadonlySet<string> =>
  new Set(
    program.body.flatMap((statement) =>
      statement.type === "ExportNamedDeclaration" && statement.source === null
        ? statement.specifiers.flatMap(({ local }) => (local.type === "Identifier" ? [local.name] : []))
        : []
    )
  )

/** A doc comment stands right before the statement; line comments may stand between. */
const isDocumented = ({ comments, text }: Parsed, start: number): boolean => {
  let end = start
  for (const comment of comments.toReversed()) {
    if (comment.end > end) continue
    if (text.slice(comment.end, end).trim() !== "") return false
    if (comment.type === "Block") return comment.value.startsWith("*")
    end = comment.start
  }
  return false
}
