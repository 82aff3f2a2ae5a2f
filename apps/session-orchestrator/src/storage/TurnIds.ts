/** Makes ids for new turns. */
import { Ids } from "@holdfast/wire"
import * as OrderedId from "./OrderedId.ts"

/** A new id, which sorts behind all ids that this process has made. */
export const make = (): Ids.TurnId => Ids.TurnId.make(OrderedId.next())
