/** The name of this process; no other process, earlier or later, has the same name. */
import { Context } from "effect"

/** A random UUID by default, made once a process. A test gives each simulated process a name of its own. */
export const Life = Context.Reference<string>("@holdfast/journal/Life", {
  defaultValue: () => globalThis.crypto.randomUUID()
})
