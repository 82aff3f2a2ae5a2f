/**
 * The parts of prompts with files (`Turn.content`); prompts of text alone have no rows.
 *
 * PromptTable.P1. A row is JSON exactly as the turn's first message has it, so that the event of that message can leave it out
 *     (`EventText`).
 */
import { Rows } from "@holdfast/journal/sql"
import { Message } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Turn } from "../Store.ts"

/** The JSON of a prompt's parts. */
export const jsonOf = (content: NonNullable<Turn["content"]>): string => JSON.stringify(content)

/** Writes the parts of turns that were added in the same transaction. */
export const insert = (
  sql: SqlClient.SqlClient,
  turns: ReadonlyArray<Pick<Turn, "turnId" | "content">>,
  numbers: ReadonlyMap<string, number>
): Effect.Effect<void, SqlError.SqlError> => {
  const rows = turns.flatMap(({ content, turnId }) =>
    content === undefined ? [] : [{ turn: numbers.get(turnId) ?? null, content: jsonOf(content) }]
  )
  return rows.length === 0 ? Effect.void : Effect.asVoid(Rows.insertAll(sql, "turn_prompts", rows))
}

/** A column: the parts of the prompt of the turn `t`, or null. */
export const COLUMN = "(SELECT p.content FROM turn_prompts p WHERE p.turn = t.number)"

/** Reads the column. */
export const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.NonEmptyArray(Message.InputPart)))
