/**
 * A turn as a value, pure and synchronous: for engines that perform its commands themselves, and for simulations.
 *
 * `start` begins it, `evolve` folds in a record, `next` names what follows: events to hand over, and the commands that are open. Each command
 * ends in exactly one record (`Records`). `Turn.runTurn` is the interpreter over the kernel's ports; `examples/src/05-drive-it-yourself.ts` is an
 * engine without them.
 *
 * **Example** (A turn over its records)
 *
 * ```ts
 * const ledger = records.reduce(Machine.evolve, Machine.start(facts))
 * const { commands, emissions } = Machine.next(ledger, offers)
 * ```
 */
import type { Emission, Ledger } from "./internal/machine/Ledger.ts"
import { type Command, commandsOf, type Offers } from "./internal/machine/Next.ts"

export { evolve, start } from "./internal/machine/Evolve.ts"
export type { Emission, Ledger, Phase, TurnFacts } from "./internal/machine/Ledger.ts"
export type { Command, Offers } from "./internal/machine/Next.ts"

/** What follows from what a turn has come to. */
export interface Next {
  /** To be handed to the sink, in order, before anything is performed. */
  readonly emissions: ReadonlyArray<Emission>
  /** To be performed; more than one only where they are tool calls. None: the turn is sealed. */
  readonly commands: ReadonlyArray<Command>
  /** The same turn, with nothing left to hand over. */
  readonly ledger: Ledger
}

/** Names what follows. `offers` is what this life of the turn has for it. */
export const next = (ledger: Ledger, offers: Offers): Next => ({
  emissions: ledger.outbox,
  commands: commandsOf(ledger, offers),
  ledger: ledger.outbox.length === 0 ? ledger : { ...ledger, outbox: [] }
})
