#!/usr/bin/env node
/** The command `holdfast` of the library: runs that of `@holdfast/server`, or prints how to install it. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import process from "node:process"
import { pathToFileURL } from "node:url"

/** The program of the service beside this package, or in the working directory; `undefined`: it is not installed. */
const service = (): string | undefined => {
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), "package.json"))]) {
    try {
      const folder = dirname(createRequire(from).resolve("@holdfast/server/holdfast.config.schema.json"))
      return join(folder, JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).bin.holdfast)
    } catch {
      // It is not there.
    }
  }
  return undefined
}

const program = service()
if (program === undefined) {
  process.stderr.write(
    "The command is that of the service, a package of its own. Run `npx @holdfast/server`, or `npm install @holdfast/server`.\n"
  )
  process.exitCode = 2
} else {
  await import(pathToFileURL(program).href)
}
