/** Builds the page: `node apps/web/tools/build.ts [FOLDER]`. `--in-background` gives way to other processes, and builds nothing twice. */
import { constants, setPriority } from "node:os"
import * as PageBuild from "./PageBuild.ts"

const args = process.argv.slice(2)
const inBackground = args.includes("--in-background")
const folder = args.find((arg) => !arg.startsWith("--"))

if (inBackground) setPriority(constants.priority.PRIORITY_LOW)
if (!inBackground || !PageBuild.isCurrent(folder)) await PageBuild.build(folder)
