/**
 * A turn as a value, for engines that perform its commands themselves, and for simulations.
 *
 * Pure and synchronous. `start` begins a turn, `evolve` folds in a record, `next` returns the events to emit and the open commands. Each
 * command ends in exactly one record (`Records`). `Turn.runTurn` performs them over the kernel's ports;
 * `examples/src/05-drive-it-yourself.ts` is an engine without them.
 *
 * **Example** (A turn over its records)
 *
 * ```ts
 * const ledger = records.reduce(Machine.evolve, Machine.start(facts))
 * const { commands, emissions } = Machine.next(ledger, offers)
 * ```
 */
import type { Emission, Ledger } from "../internal/machine/Ledger.ts"
import { type Command, commandsOf, type Offers } from "../internal/machine/OpenCommands.ts"

export { evolve, start } from "../internal/machine/Evolve.ts"
export type { Emission, Ledger, Phase, TurnFacts } from "../internal/machine/Ledger.ts"
export type { Command, Offers } from "../internal/machine/OpenCommands.ts"

/** The events to emit and the commands to perform in a state of a turn. */
export interface Next {
  /** To be passed to the sink, in order, before any command is performed. */
  readonly emissions: ReadonlyArray<Emission>
  /** To be performed; only tool calls are open several at once. None: the turn is sealed. */
  readonly commands: ReadonlyArray<Command>
  /** The same turn with an empty outbox. */
  readonly ledger: Ledger
}

/** Returns what follows. `offers` are the tools and ports of this life of the turn. */
export const next = (ledger: Ledger, offers: Offers): Next => ({
  emissions: ledger.outbox,
  commands: commandsOf(ledger, offers),
  ledger: ledger.outbox.length === 0 ? ledger : { ...ledger, outbox: [] }
})
