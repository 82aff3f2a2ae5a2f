/** Puts the defect whose number is in `HOLDFAST_DEFECT` into the sources that this process loads. Loaded before anything else. */
import { readFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"
import { DEFECTS } from "./Defects.ts"

const defect = DEFECTS[Number(process.env["HOLDFAST_DEFECT"])]
if (defect === undefined) throw new Error("HOLDFAST_DEFECT names no defect")
const { find, path, replace } = defect

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith(path)) return loaded
    const text = readFileSync(fileURLToPath(url), "utf8")
    if (text.split(find).length !== 2) throw new Error(`${path} has not once: ${find}`)
    return { ...loaded, source: text.replace(find, () => replace) }
  }
})
