/**
 * Runs what may come to no end because somebody else has written its terms: everything else in this process waits for it.
 *
 * L1. The limit holds for whatever runs, a regular expression that backtracks too: V8 itself breaks it off.
 * L2. What was broken off has run in part, without its `finally` blocks: it must leave nothing behind that matters.
 */
import { type Context, createContext, Script } from "node:vm"
import { Option, Predicate } from "effect"

/** The result, or nothing where it took longer. It costs 0.2 ms. */
export const run = <A>(act: () => A, limitMs: number): Option.Option<A> => {
  const { context, script, stage } = (theatre ??= make())
  let result = Option.none<A>()
  stage.act = () => {
    result = Option.some(act())
  }
  try {
    script.runInContext(context, { timeout: limitMs })
    return result
  } catch (error) {
    if (Predicate.hasProperty(error, "code") && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return Option.none()
    throw error
  } finally {
    stage.act = undefined
  }
}

// --- internal

/** A context takes a millisecond to make, and is asked for by few. */
interface Theatre {
  readonly context: Context
  readonly script: Script
  readonly stage: { act: (() => void) | undefined }
}

let theatre: Theatre | undefined = undefined

const make = (): Theatre => {
  const stage: Theatre["stage"] = { act: undefined }
  return { stage, context: createContext(stage), script: new Script("act()") }
}
