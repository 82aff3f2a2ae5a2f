/** The example of `@holdfast/cloudflare`'s README: a Durable Object. `main.ts` checks its types; it is never run. */
import type { Model } from "holdfast"

declare const model: Model

// #region durable-object
import { durableTurns } from "@holdfast/cloudflare"
import { DurableObject } from "cloudflare:workers"

export class Agent extends DurableObject {
  turns = durableTurns(this.ctx, { model, retry: "overnight" })

  /** The answer, or `parked`: then ask later, with the same id. */
  ask(id: string, prompt: string) {
    return this.turns.turn(prompt, { id }).result
  }
  alarm() {
    return this.turns.alarm()
  }
}
// #endregion durable-object
