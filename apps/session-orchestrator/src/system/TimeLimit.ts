/**
 * Runs user-supplied patterns with a time limit, so that they cannot block the process.
 *
 * TimeLimit.L1. The limit also ends a regular expression that backtracks: V8 itself interrupts it.
 * TimeLimit.L2. An interrupted function has run in part, without its `finally` blocks: it must not leave state behind that matters.
 */
import { type Context, createContext, Script } from "node:vm"
import { Option, Predicate } from "effect"

/** Returns the result of `compute`, or nothing if it took longer than `limitMs`. The limit itself costs 0.2 ms. */
export const run = <A>(compute: () => A, limitMs: number): Option.Option<A> => {
  const { context, script, globals } = (sandbox ??= make())
  let result = Option.none<A>()
  globals.call = () => {
    result = Option.some(compute())
  }
  try {
    script.runInContext(context, { timeout: limitMs })
    return result
  } catch (error) {
    if (Predicate.hasProperty(error, "code") && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return Option.none()
    throw error
  } finally {
    globals.call = undefined
  }
}

// --- internal

/** Made on first use, as a context takes a millisecond to make and few processes need one. */
interface Sandbox {
  readonly context: Context
  readonly script: Script
  readonly globals: { call: (() => void) | undefined }
}

let sandbox: Sandbox | undefined = undefined

const make = (): Sandbox => {
  const globals: Sandbox["globals"] = { call: undefined }
  return { globals, context: createContext(globals), script: new Script("call()") }
}
