/**
 * What a client puts on its conversations and turns: tags to find them by, and metadata of its own (rule X15).
 *
 * Both are bounded. Neither is sent to a model or made a label of a metric. Holdfast reads tags alone, for limits of spending and ages
 * of conversations; metadata is kept as it is.
 */
import * as Schema from "effect/Schema"
import { defined } from "./values/Defined.ts"
import { JsonObject } from "./values/Text.ts"

/** Characters of metadata as JSON. */
export const MOST_METADATA = 16_384

/** Tags of one turn or conversation. */
export const MOST_TAGS = 16

const TAG = "expected 1 to 64 letters, digits or characters of _ . : / @ + -"

/** A name to find turns and conversations by. */
export const Tag = Schema.String.check(Schema.isPattern(/^[\w.:/@+-]{1,64}$/, { message: TAG }))

/** Tags, each once. */
export const Tags = Schema.Array(Tag).check(
  Schema.makeFilter((tags) => {
    if (tags.length > MOST_TAGS) return `found ${tags.length} tags; expected ${MOST_TAGS} at most`
    return new Set(tags).size === tags.length ? undefined : "expected each tag once"
  })
)

/** An object of the client's own. */
export const Metadata = JsonObject.check(
  Schema.makeFilter((metadata) => {
    const { length } = JSON.stringify(metadata)
    return length <= MOST_METADATA ? undefined : `found ${length} characters as JSON; expected ${MOST_METADATA} at most`
  })
)

/** The keys of labels, in requests and in what is received. */
export const fields = {
  metadata: Schema.optionalKey(
    Metadata.annotate({
      description: `An object of your own, kept and returned as it is; ${MOST_METADATA} characters of JSON at most.`,
      examples: [{ ticket: "OPS-4711" }]
    })
  ),
  tags: Schema.optionalKey(
    Tags.annotate({
      description: `Names to find it by; ${MOST_TAGS} at most.`,
      examples: [["nightly", "team/ops"]]
    })
  )
}

/** Metadata and tags, either of which may be absent. */
export const Labels = Schema.Struct(fields)
export type Labels = typeof Labels.Type

/** The labels among the keys of a request; `undefined` where it has none. */
export const among = ({ metadata, tags }: Labels): Labels | undefined =>
  metadata === undefined && tags === undefined ? undefined : defined({ metadata, tags })
