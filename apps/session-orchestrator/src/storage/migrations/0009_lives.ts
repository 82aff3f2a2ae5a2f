/**
 * Marks that records of begun tool calls name the life of their turn.
 *
 * No table changes. A Holdfast that could not read such a record is refused, also beside this version on the same database.
 */
import { Effect } from "effect"

/** The migration, for SQLite and PostgreSQL. */
export const migration = Effect.void
