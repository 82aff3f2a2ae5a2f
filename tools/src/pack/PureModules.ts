/**
 * Marks what a module computes while it is loaded as pure, so that a bundler leaves out what a program does not use.
 *
 * PureModules.P1. Marked are the initializers of top-level constants and what top-level classes extend, where they make a call. A statement
 *     that is a call is none of them: it is there for its effect.
 * PureModules.P2. Each becomes a function that is called at once, because a bundler keeps a call whose arguments have a spread.
 */
import { parseSync } from "oxc-parser"
import { MagicString } from "magic-string"

/** Returns the text of a module with its marks. */
export const marked = (file: string, text: string): string => {
  const edited = new MagicString(text)
  for (const statement of parseSync(file, text).program.body) {
    const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
    const computed =
      declared?.type === "VariableDeclaration"
        ? declared.declarations.map(({ init }) => init)
        : declared?.type === "ClassDeclaration"
          ? [declared.superClass]
          : []
    for (const expression of computed) {
      if (expression === null || !isCalling(expression) || isAwaiting(expression)) continue
      edited.appendLeft(expression.start, "/* @__PURE__ */ (() => (").appendRight(expression.end, "))()")
    }
  }
  return edited.toString()
}

// --- internal

type Node = { readonly type: string }

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value

/** Whether a node of these types is evaluated with `value`, outside of functions. */
const evaluates =
  (...types: ReadonlyArray<string>) =>
  (value: unknown): boolean => {
    if (Array.isArray(value)) return value.some(evaluates(...types))
    if (!isNode(value) || value.type === "ArrowFunctionExpression" || value.type === "FunctionExpression") return false
    return types.includes(value.type) || Object.values(value).some(evaluates(...types))
  }

/** A template with expressions calls their `toString`. */
const isCalling = evaluates("CallExpression", "NewExpression", "TaggedTemplateExpression", "TemplateLiteral")
const isAwaiting = evaluates("AwaitExpression")
