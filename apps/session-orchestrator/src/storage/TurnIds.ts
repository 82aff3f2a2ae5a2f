/** Ids for new turns. */
import { Ids } from "@holdfast/wire"
import * as OrderedId from "./OrderedId.ts"

/** A new id; it comes behind all that this process has given. */
export const make = (): Ids.TurnId => Ids.TurnId.make(OrderedId.next())
