/** Schema of the configuration in force: every key with its value and its source, without secrets. */
import * as Schema from "effect/Schema"

/** Where a value is from. */
export const Source = Schema.Struct({
  from: Schema.Literals(["default", "profile", "file", "environment", "flag"]),
  name: Schema.optionalKey(
    Schema.String.annotate({ description: "The profile, file, variable or flag; absent for a default." })
  ),
  line: Schema.optionalKey(Schema.Int.annotate({ description: "Of the file, counted from 1." }))
})
export type Source = typeof Source.Type

/** One key of the configuration. */
export const Entry = Schema.Struct({
  key: Schema.String.annotate({ description: "As in the file: `server.port`, `providers.openai`." }),
  value: Schema.String.annotate({ description: "In words, without secrets." }),
  source: Source
})
export type Entry = typeof Entry.Type

/** The configuration in force. */
export const EffectiveConfiguration = Schema.Struct({
  file: Schema.optionalKey(Schema.String.annotate({ description: "The file that was read; absent: there was none." })),
  entries: Schema.Array(Entry),
  unused: Schema.Array(Schema.String).annotate({ description: "Providers that are known, and have no key." }),
  notices: Schema.Array(Schema.String).annotate({ description: "Remarks for the operator, a sentence or two each." })
})
export type EffectiveConfiguration = typeof EffectiveConfiguration.Type
