/** Fails the build where `holdfast.config.schema.json` is out of date; with `--write` it writes the file. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { isDeepStrictEqual } from "node:util"
import * as EditorSchema from "./EditorSchema.ts"

const file = new URL("../holdfast.config.schema.json", import.meta.url)
const page = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8")

const made: unknown = JSON.parse(JSON.stringify(EditorSchema.make(page)))

const isWritten = existsSync(file) && isDeepStrictEqual(JSON.parse(readFileSync(file, "utf8")), made)
if (!isWritten && process.argv.includes("--write")) writeFileSync(file, `${JSON.stringify(made, undefined, 2)}\n`)
else if (!isWritten) {
  process.stderr.write("apps/session-orchestrator/holdfast.config.schema.json is out of date: run `pnpm fix`.\n")
  process.exitCode = 1
}
