/**
 * The subpath of each public module of a package, such as `@holdfast/kernel/Turn`.
 *
 * esbuild keeps the whole of a module that it reaches as `export * as Turn` of an index. Of a module that is imported by itself it keeps what is
 * used. So published packages import each other's modules by subpath, and programs may.
 *
 * Subpaths.S1. A subpath is the name that the index gives to a module; a package is written as if it had the index alone.
 */
import { parseSync } from "oxc-parser"
import { MagicString } from "magic-string"

/** The modules of an index: the source file of each name. */
export type Modules = { readonly [name: string]: string }

/** Reads the modules of an index. */
export const of = (index: string): Modules =>
  Object.fromEntries(Array.from(index.matchAll(/^export \* as (\w+) from "(.+)"$/gm), ([, name, file]) => [name, file]))

/** The `exports` of a package with the subpaths of its index, which is in `folder`. */
export const exportsOf = (modules: Modules, folder: string): { readonly [path: string]: string } =>
  Object.fromEntries(
    Object.entries(modules).map(([name, file]) => [`./${name}`, `${folder}/${file.replace("./", "")}`])
  )

/** Makes a script import the modules of other packages by their subpaths. */
export const imported = (file: string, text: string, packages: { readonly [name: string]: Modules }): string => {
  const edited = new MagicString(text)
  for (const statement of parseSync(file, text).program.body) {
    if (statement.type !== "ImportDeclaration") continue
    const { end, source, specifiers, start } = statement
    const modules = packages[source.value]
    if (modules === undefined) continue
    const names = specifiers.flatMap((specifier) =>
      specifier.type === "ImportSpecifier" && specifier.imported.type === "Identifier"
        ? [{ name: specifier.imported.name, local: specifier.local.name }]
        : []
    )
    if (names.length < specifiers.length || !names.some(({ name }) => name in modules)) continue
    const whole = names.filter(({ name }) => name in modules)
    const single = names.filter(({ name }) => !(name in modules))
    const lines = whole.map(({ local, name }) => `import * as ${local} from "${source.value}/${name}";`)
    const list = single.map(({ local, name }) => (name === local ? local : `${name} as ${local}`)).join(", ")
    if (list !== "") lines.push(`import { ${list} } from "${source.value}";`)
    edited.overwrite(start, end, lines.join("\n"))
  }
  return edited.toString()
}
