/** Fails the build where a JSON Schema that is made from the program's schemas is out of date; with `--write` it writes the file. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { isDeepStrictEqual } from "node:util"
import * as EditorSchema from "./EditorSchema.ts"
import * as RpcSchema from "./RpcSchema.ts"

const root = new URL("../../../", import.meta.url)
const page = readFileSync(new URL("docs/configuration.md", root), "utf8")

const files = [
  ["apps/session-orchestrator/holdfast.config.schema.json", EditorSchema.make(page)],
  ["docs/rpc.schema.json", RpcSchema.ofLines()],
  ["docs/websocket.schema.json", RpcSchema.ofMessages()]
] as const

for (const [path, schema] of files) {
  const file = new URL(path, root)
  const made: unknown = JSON.parse(JSON.stringify(schema))
  const isWritten = existsSync(file) && isDeepStrictEqual(JSON.parse(readFileSync(file, "utf8")), made)
  if (isWritten) continue
  if (process.argv.includes("--write")) writeFileSync(file, `${JSON.stringify(made, undefined, 2)}\n`)
  else {
    process.stderr.write(`${path} is out of date: run \`pnpm fix\`.\n`)
    process.exitCode = 1
  }
}
