/** Makes llms.txt: each page for users with its title and its first sentence, as programs that read documentation expect it (llmstxt.org). Pure. */
import type { File } from "./Files.ts"

/** The chapters, and the pages of each. */
export const CHAPTERS: Readonly<Record<string, string>> = {
  Docs: "docs/*.md",
  Packages: "packages/*/README.md"
}

/** The whole file. `readme` begins it; the pages of a chapter stand in their order. */
export const make = (readme: string, chapters: Readonly<Record<string, ReadonlyArray<File>>>): string =>
  [
    `# ${titleOf(readme)}\n\n> ${firstParagraph(readme)}`,
    ...Object.entries(chapters).map(([name, pages]) => `## ${name}\n\n${pages.map(line).join("\n")}`)
  ].join("\n\n") + "\n"

/** The first paragraph of a page's prose, without marks and addresses; code, tables, pictures and comments are passed over. */
export const firstParagraph = (text: string): string => {
  const paragraphs = text.replaceAll(/^```[^]*?^```/gm, "").split(/\n\s*\n/)
  const prose =
    paragraphs.map((paragraph) => paragraph.trim()).find((paragraph) => /^[^#|!<\-\s]/.test(paragraph)) ?? ""
  return prose
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("**", "")
}

// --- internal

const titleOf = (text: string): string => /^# (.*)$/m.exec(text)?.[1] ?? ""

const line = ({ path, text }: File): string => `- [${titleOf(text)}](${path}): ${firstSentence(text)}`

const firstSentence = (text: string): string => {
  const paragraph = firstParagraph(text)
  return (/^.*?\.(?=["”]?(?: |$))["”]?/.exec(paragraph)?.[0] ?? paragraph).replace(/:$/, ".")
}
