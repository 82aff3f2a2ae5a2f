/** The program of runtimes that have processes and files: `process.mjs URL FILE MODEL LIFE`; with `cut` as the life, the call that is cut off. */
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import process from "node:process"
import { cutCall, scenario } from "./Scenario.mjs"

const [url, file, model, life] = process.argv.slice(2)
const print = (line) => console.log(line)

/** A store of one's own: lines of a file, the last one of a key counts. */
const entries = () =>
  new Map(
    existsSync(file)
      ? readFileSync(file, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : []
  )
const store = {
  get: (key) => entries().get(key),
  put: (key, value) => appendFileSync(file, `${JSON.stringify([key, value])}\n`),
  list: (prefix) => Array.from(entries()).filter(([key]) => key.startsWith(prefix))
}

if (life === "cut") print(await cutCall(url))
else if (life === "cut-without-reuse")
  print(await cutCall(url, { client: globalThis.Deno.createHttpClient({ poolMaxIdlePerHost: 0 }) }))
else await scenario({ life, model, print, store, url })
