/** Builds the packed service: the bundle with the built page beside it, as `@holdfast/server` has it. */
import { join } from "node:path"
import { bundle } from "../../../../tools/src/bundleProgram.ts"
import * as PageBuild from "../../tools/PageBuild.ts"

/** Bundles the program and its page into a folder; returns the program. */
export const packed = async (folder: string): Promise<string> => {
  await bundle(folder)
  await PageBuild.build(join(folder, "page"))
  return join(folder, "main.js")
}
