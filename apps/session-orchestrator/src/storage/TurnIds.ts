/** Makes ids of turns whose client chose none. */
import { Ids } from "@holdfast/wire"
import * as OrderedId from "./OrderedId.ts"

/** A new turn's id. */
export const make = (): Ids.TurnId => Ids.TurnId.make(OrderedId.next())
