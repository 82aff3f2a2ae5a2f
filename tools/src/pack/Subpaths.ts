/**
 * The subpath of each public module of a package, such as `@holdfast/kernel/Turn`.
 *
 * esbuild keeps the whole of a module that it reaches as `export * as Turn` of an index. Of a module that is imported by itself it keeps what is
 * used. So published packages import each other's modules by subpath, and programs may.
 *
 * Subpaths.S1. A subpath is that of the entry with the name that it gives to the module: `@holdfast/kernel/Turn`, `@holdfast/kernel/host/Push`.
 *     Sources import entries alone; packing rewrites their imports.
 */
import { dirname, join } from "node:path/posix"
import { parseSync } from "oxc-parser"
import { MagicString } from "magic-string"

/** The modules of an entry of a package: the source file of each name, from the package's folder. */
export type Modules = { readonly [name: string]: string }

/** Reads the modules of an entry, whose file is `entry`. */
export const of = (entry: string, text: string): Modules =>
  Object.fromEntries(
    Array.from(text.matchAll(/^export \* as (\w+) from "(.+)"$/gm), ([, name, file = ""]) => [
      name,
      `./${join(dirname(entry), file)}`
    ])
  )

/** The exports of the modules of an entry, whose subpath is `.` or such as `./host`. */
export const exportsOf = (subpath: string, modules: Modules): { readonly [path: string]: string } =>
  Object.fromEntries(Object.entries(modules).map(([name, file]) => [`${subpath}/${name}`, file]))

/** Makes a script import the modules of other packages by their subpaths. `entries` are by what programs import. */
export const imported = (file: string, text: string, entries: { readonly [specifier: string]: Modules }): string => {
  const edited = new MagicString(text)
  for (const statement of parseSync(file, text).program.body) {
    if (statement.type !== "ImportDeclaration") continue
    const { end, source, specifiers, start } = statement
    const modules = entries[source.value]
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
