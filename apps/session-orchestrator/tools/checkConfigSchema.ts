/** Fails the build where a page or a JSON Schema that is made from the program's schemas is out of date; with `--write` it writes the file. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { isDeepStrictEqual } from "node:util"
import * as CommandPages from "./CommandPages.ts"
import * as EditorSchema from "./EditorSchema.ts"
import * as RpcSchema from "./RpcSchema.ts"
import * as SettingsPage from "./SettingsPage.ts"

const root = new URL("../../../", import.meta.url)

const page = (path: string): string => readFileSync(new URL(path, root), "utf8")

const files: ReadonlyArray<readonly [path: string, made: object | string]> = [
  ["apps/session-orchestrator/holdfast.config.schema.json", EditorSchema.make()],
  ["docs/settings.md", SettingsPage.make()],
  ["docs/api.md", CommandPages.ofApi(page("docs/api.md"))],
  ["docs/rpc.md", CommandPages.ofLines(page("docs/rpc.md"))],
  ["docs/rpc.schema.json", RpcSchema.ofLines()],
  ["docs/websocket.schema.json", RpcSchema.ofMessages()]
]

/** JSON is compared as values: the formatter has its own line breaks. */
const valueOf = (text: string, path: string): unknown => (path.endsWith(".json") ? JSON.parse(text) : text)

for (const [path, made] of files) {
  const file = new URL(path, root)
  const text = typeof made === "string" ? made : `${JSON.stringify(made, undefined, 2)}\n`
  const isWritten =
    existsSync(file) && isDeepStrictEqual(valueOf(readFileSync(file, "utf8"), path), valueOf(text, path))
  if (isWritten) continue
  if (process.argv.includes("--write")) writeFileSync(file, text)
  else {
    process.stderr.write(`${path} is out of date: run \`pnpm fix\`.\n`)
    process.exitCode = 1
  }
}
