/** The tags and the metadata of turns and conversations; those without any have no rows. */
import { Rows } from "@holdfast/journal/sql"
import { defined, Labels } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Position } from "../ListPage.ts"
import * as Keyset from "./Keyset.ts"

/** What has labels. */
type Kind = "turn" | "conversation"

/** A new row of a turn or conversation, by its number, with its labels. */
interface Labelled {
  readonly number: number
  readonly labels?: Labels.Labels | undefined
}

/** Writes the labels of rows that were added in the same transaction. */
export const insert = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  kind: Kind,
  rows: ReadonlyArray<Labelled>
): Effect.fn.Return<void, SqlError.SqlError> {
  const labelled = rows.flatMap(({ labels: { metadata, tags = [] } = {}, number }) =>
    metadata === undefined && tags.length === 0 ? [] : [{ number, metadata, tags }]
  )
  const labels = labelled.map(({ metadata, number, tags }) => ({
    [kind]: number,
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
    tags: tags.length === 0 ? null : JSON.stringify(tags)
  }))
  const tags = labelled.flatMap(({ number, tags }) => tags.map((tag) => ({ tag, [kind]: number })))
  yield* Rows.insertAll(sql, `${kind}_labels`, labels)
  yield* Rows.insertAll(sql, `${kind}_tags`, tags)
})

/** The columns of `l`, the labels of a row that may have none. */
export interface Columns {
  readonly metadata: string | null
  readonly tags: string | null
}

/** Decodes the labels in these columns. */
export const read = ({ metadata, tags }: Columns): Effect.Effect<Labels.Labels, Schema.SchemaError> =>
  Effect.map(decode({ metadata, tags }), (found) =>
    defined({ metadata: found.metadata ?? undefined, tags: found.tags ?? undefined })
  )

/** Rows of a list by tag behind a position, ordered by their numbers: `FROM … WHERE …`, to continue with `ORDER BY`. */
export const tagged = (
  sql: SqlClient.SqlClient,
  kind: Kind,
  tag: string,
  after: Position | undefined
): Statement.Fragment => {
  const row = kind === "turn" ? "t" : "c"
  // Both sides are bounded: whichever the database reads first, it begins at the position.
  return sql`FROM ${sql.literal(`${kind}_tags g JOIN ${kind}s ${row} ON ${row}.number = g.${kind}`)}
    WHERE g.tag = ${tag} AND ${Keyset.below(sql, `g.${kind}`, after)} AND ${Keyset.below(sql, `${row}.number`, after)}`
}

// --- internal

const decode = Schema.decodeUnknownEffect(
  Schema.Struct({
    metadata: Schema.NullOr(Schema.fromJsonString(Labels.Metadata)),
    tags: Schema.NullOr(Schema.fromJsonString(Schema.Array(Schema.String)))
  })
)
