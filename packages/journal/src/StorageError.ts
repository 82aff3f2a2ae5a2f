/** The error of a database that did not store or read what it was given. */
import * as Schema from "effect/Schema"

/** The database refused: its disk is full, it is read-only, locked or corrupt. Nothing of the write is stored. */
export class StorageError extends Schema.TaggedError<StorageError>()("StorageError", {
  /** What was attempted, in words for a person, and the database's own message. */
  message: Schema.String,
  /** `one`: only this call is affected. Absent: every other call would fail too. */
  concerns: Schema.optionalKey(Schema.Literal("one"))
}) {}
