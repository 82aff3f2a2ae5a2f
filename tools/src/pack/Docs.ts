/** The pages of the repository inside an installed package. Pure. */
import type { File } from "../Files.ts"
import * as LlmsText from "../LlmsText.ts"

/** A README whose links to the pages lead to those of its package. */
export const readme = (text: string): string => text.replaceAll("](../../docs/", "](docs/")

/** The files of the package: the pages, and llms.txt with their list. */
export const files = (repositoryReadme: string, pages: ReadonlyArray<File>): ReadonlyArray<File> => [
  ...pages,
  { path: "llms.txt", text: LlmsText.make(repositoryReadme, { Docs: pages }) }
]
