/**
 * Runs user-supplied patterns with a time limit, so that they cannot block the process.
 *
 * TimeLimit.L1. The limit also ends a regular expression that backtracks: V8 itself interrupts it.
 * TimeLimit.L2. An interrupted function has run in part, without its `finally` blocks: it must not leave state behind that matters.
 */
import { type Context, createContext, Script } from "node:vm"
import { Option, Predicate } from "effect"

/** Returns the result of `act`, or nothing if it took longer than `limitMs`. The limit itself costs 0.2 ms. */
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

/** Made on first use, as a context takes a millisecond to make and few processes need one. */
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
