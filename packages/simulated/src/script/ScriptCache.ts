/**
 * Caches parsed scripts by the name of the simulated model, which is the text of the script.
 *
 * One model is requested repeatedly, and parsing its name costs more than most responses.
 *
 * Invalid names are not cached: they fail every call anyway. At most `MAX_SCRIPTS` are cached, with names of at most `MAX_LENGTH`: a
 * prompt may contain any name.
 */
import * as Result from "effect/Result"
import type { Script } from "./Script.ts"
import * as Syntax from "./Syntax.ts"

/** Parses a script, as `Syntax.parse` does. */
export type ScriptCache = (name: string) => Result.Result<Script, Syntax.NotUnderstood>

/** The most scripts that are cached: far more than the models of one configuration. */
const MAX_SCRIPTS = 100

/** The most characters of a cached name. Real names are shorter. */
const MAX_LENGTH = 1000

/** An empty cache. */
export const make = (): ScriptCache => {
  const known = new Map<string, Result.Result<Script, Syntax.NotUnderstood>>()
  return (name) => {
    const script = known.get(name)
    if (script !== undefined) return script
    const read = Syntax.parse(name)
    if (Result.isSuccess(read) && name.length <= MAX_LENGTH) {
      if (known.size >= MAX_SCRIPTS) known.clear()
      known.set(name, read)
    }
    return read
  }
}
