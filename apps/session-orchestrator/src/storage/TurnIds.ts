/** Makes ids of turns whose client chose none. */
import { Ids } from "@holdfast/wire"
import { Context } from "effect"
import * as OrderedId from "./OrderedId.ts"

/** A new turn's id. */
export const make = (): Ids.TurnId => Ids.TurnId.make(OrderedId.next())

/** What makes ids; tests that replay a run have one of their own. */
export const TurnIds = Context.Reference<() => Ids.TurnId>("@holdfast/session-orchestrator/storage/TurnIds", {
  defaultValue: () => make
})
