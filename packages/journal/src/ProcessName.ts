/** The name of this process; no other process, earlier or later, has the same name. */
import * as Context from "effect/Context"

/** A random UUID by default, made once a process. A test gives each simulated process a name of its own. */
export const ProcessName = Context.Reference<string>("@holdfast/journal/ProcessName", {
  defaultValue: () => world.crypto.randomUUID()
})

// --- internal

/** Every runtime has it; this package names no platform's types. */
const world = globalThis as unknown as { readonly crypto: { readonly randomUUID: () => string } }
