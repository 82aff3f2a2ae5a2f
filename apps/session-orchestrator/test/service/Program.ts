/** The program that tests start: the sources of this moment in a few files, so that a process is up in a third of the time. */
import { join } from "node:path"
import { folder } from "../../../../tools/src/bundleProgram.ts"

export const MAIN = join(folder, "main.js")
