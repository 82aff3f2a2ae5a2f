/** The licences of what a bundle contains: most ask that their text goes wherever their code goes. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The folder of the package that a module is of; absent for our own. */
export const packageOf = (module: string): string | undefined =>
  /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(module)?.[0]

/** One Markdown text with the name, version and licence of each package that one of the modules is of. Fails where one has no licence. */
export const of = (modules: ReadonlyArray<string>): string => {
  const folders = new Set(modules.map(packageOf).filter((folder) => folder !== undefined))
  const packages = Array.from(folders, noticeOf).toSorted((a, b) => a.title.localeCompare(b.title))
  const texts = new Map(packages.map(({ text, title }) => [title, text]))
  return [
    "# Licences of what this program contains\n",
    ...Array.from(texts, ([title, text]) => `## ${title}\n\n\`\`\`\n${text.trim()}\n\`\`\`\n`)
  ].join("\n")
}

// --- internal

const noticeOf = (folder: string): { readonly title: string; readonly text: string } => {
  const { license, name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.|$)/i.test(entry))
  const text = file === undefined ? license : readFileSync(join(folder, file), "utf8")
  if (typeof text !== "string") throw new Error(`${name} ${version} has no licence: it must not be in a bundle.`)
  return { title: `${name} ${version}`, text }
}
