/** The name of this process, which no other process ever has. */
import { Context } from "effect"

export const Life = Context.Reference<string>("@holdfast/session-orchestrator/durable/Life", {
  defaultValue: () => globalThis.crypto.randomUUID()
})
