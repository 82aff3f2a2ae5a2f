/**
 * Scripts by their names, each read once.
 *
 * A model is asked for again and again under one name, and reading a name costs more than playing most scenes.
 *
 * R1. What is not understood is not remembered: only what fails every call pays for reading.
 * R2. At most `MAX_SCRIPTS` are remembered, with names of at most `MAX_LENGTH`: a prompt may name anything.
 */
import { Result } from "effect"
import type { Script } from "./Script.ts"
import * as Syntax from "./Syntax.ts"

/** Reads a script, as `Syntax.parse` does. */
export type Scripts = (name: string) => Result.Result<Script, Syntax.NotUnderstood>

/** Far more models than one configuration names. */
const MAX_SCRIPTS = 100

/** Names that people write are shorter. */
const MAX_LENGTH = 1000

/** Remembers nothing yet. */
export const make = (): Scripts => {
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
