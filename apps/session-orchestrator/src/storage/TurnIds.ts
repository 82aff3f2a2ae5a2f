/** Makes ids for new turns. */
import type { Ids } from "@holdfast/wire"
import * as OrderedId from "./OrderedId.ts"

/** A new id, which sorts behind all ids that this process has made. */
export const make = (): Ids.TurnId => OrderedId.next() as Ids.TurnId // A UUID has the form of an id.
