/** Puts the header of a file on the page of its module; typedoc alone takes headers with the tag @module only. */
import { Comment, Converter, ReflectionKind } from "typedoc"

/** The plugin, called by typedoc. */
export const load = (app) => {
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (context, reflection) => {
    if (!reflection.kindOf(ReflectionKind.SomeModule) || reflection.comment !== undefined) return
    const declarations = context.getSymbolFromReflection(reflection)?.declarations ?? []
    const text = declarations.map(({ text }) => text).find((text) => typeof text === "string")
    const header = text === undefined ? undefined : headerOf(text)
    if (header !== undefined) reflection.comment = new Comment([{ kind: "text", text: header }])
  })
}

/** The first comment of a file as Markdown: numbered invariants become a list. A comment of the first declaration is no header. */
const headerOf = (text) => {
  const [comment, body, next] = /^\/\*\*([\s\S]*?)\*\/\s*(\S+)/.exec(text) ?? []
  if (comment === undefined || next === undefined || !/^(?:import|\/\*|\/\/)/.test(next)) return undefined
  return body
    .replaceAll(/^[ \t]*\*[ \t]?/gm, "")
    .replaceAll(/^((?:[A-Za-z]+\.)?[A-Z]-?\d+)\.[ \t]/gm, "- **$1** ")
    .replaceAll(/^(?=- \*\*)/gm, "\n")
    .trim()
}
