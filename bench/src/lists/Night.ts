/**
 * Fills an empty database with many turns that have ended, in a few statements.
 *
 * | | |
 * |---|---|
 * | prompts, answers | some 500 and 2,000 characters |
 * | conversations | of four turns; one has every twentieth turn of all |
 * | ends | some 80 % completed, 15 % failed, 5 % aborted; a failed turn is the newest of its conversation |
 * | tags | `nightly` on 30 % of the turns, `odd` on one in a thousand |
 * | models | three, and `rare/model` for one conversation in five hundred |
 * | words of answers | `COMMON` in one of three, `RARE` in one of ten thousand |
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** A word that one answer of three has. */
export const COMMON = "zephyr"

/** A word that one answer of ten thousand has. */
export const RARE = "quixotic"

/** When turn `n` was accepted: a second after the one before, the newest an hour ago. */
export const acceptedAt = (n: number, turns: number): number => Date.now() - 3_600_000 - (turns - n) * 1_000

/** Writes the turns, their conversations, events and tags. */
export const write = (turns: number): Effect.Effect<void, unknown, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const isPostgres = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
    const conversations = 1 + Math.ceil(turns / 4)
    const upTo = (count: number) =>
      isPostgres
        ? `(SELECT n FROM generate_series(1, ${count}) AS n) AS s`
        : `(WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${count}) SELECT n FROM r) AS s`
    const first = acceptedAt(0, turns)
    const statements = [
      `INSERT INTO conversations (number, conversation_id, model, auto_retry_enabled, created_at)
        SELECT n, 'conversation-' || n, CASE WHEN n % 500 = 7 THEN 'rare/model' WHEN n % 3 = 0 THEN 'openai/gpt'
          WHEN n % 3 = 1 THEN 'anthropic/claude' ELSE 'google/gemini' END, 1, ${first} + n * 4000 - 1000
        FROM ${upTo(conversations)}`,
      `INSERT INTO turns (number, turn_id, conversation, prompt, accepted_at, after_event_id, end_event_id, status, ended_at)
        SELECT n, 'turn-' || n, ${CONVERSATION}, substr('${text(1, 9_000)}', 1 + n * 37 % 8000, 500), ${first} + n * 1000,
          4 * ${PLACE}, 4 * ${PLACE} + 4, ${STATUS}, ${first} + n * 1000 + 30000
        FROM ${upTo(turns)}`,
      ...["turn-start", "message"].map(
        (type, i) => `INSERT INTO events (conversation, event_id, turn, position, type, payload)
          SELECT ${CONVERSATION}, 4 * ${PLACE} + ${i + 1}, n, ${i}, '${type}', '' FROM ${upTo(turns)}`
      ),
      `INSERT INTO events (conversation, event_id, turn, position, type, payload)
        SELECT ${CONVERSATION}, 4 * ${PLACE} + 3, n, 2, 'message',
          'assistant.1,"createdAt":' || (${first} + n * 1000 + 29000) || ',"content":[{"type":"text","text":"'
          || substr('${text(2, 18_000)}', 1 + n * 53 % 16000, 2000)
          || CASE WHEN n % 3 = 1 THEN ' ${COMMON}' ELSE '' END || CASE WHEN n % 10000 = 5000 THEN ' ${RARE}' ELSE '' END
          || '"}],"target":{"provider":"openai","model":"gpt"}}'
        FROM ${upTo(turns)}`,
      `INSERT INTO events (conversation, event_id, turn, position, type, payload)
        SELECT ${CONVERSATION}, 4 * ${PLACE} + 4, n, 3, 'turn-end',
          ',"status":"' || ${STATUS} || '","endedAt":' || (${first} + n * 1000 + 30000)
          || ',"steps":1,"attempts":1,"sleptMs":0,"usage":{"inputTokens":120,"outputTokens":480}'
          || CASE WHEN ${STATUS} = 'failed' THEN ',"error":{"reason":"overloaded","message":"Overloaded","retryable":true}'
            ELSE '' END || '}'
        FROM ${upTo(turns)}`,
      `INSERT INTO turn_tags (tag, turn) SELECT 'nightly', n FROM ${upTo(turns)} WHERE n % 10 < 3
        UNION ALL SELECT 'odd', n FROM ${upTo(turns)} WHERE n % 1000 = 7`,
      `INSERT INTO turn_labels (turn, metadata, tags)
        SELECT n, '{"ticket":' || n || '}', CASE WHEN n % 1000 = 7 THEN '["odd"]' ELSE '["nightly"]' END
        FROM ${upTo(turns)} WHERE n % 10 < 3 OR n % 1000 = 7`
    ]
    yield* sql.withTransaction(Effect.forEach(statements, (statement) => sql.unsafe(statement)))
    if (!isPostgres) return
    // New rows are counted on from these; and what autovacuum does within a minute or two.
    for (const table of ["conversations", "turns"])
      yield* sql.unsafe(
        `SELECT setval(pg_get_serial_sequence('${table}', 'number'), (SELECT max(number) FROM ${table}))`
      )
    yield* sql.unsafe("VACUUM ANALYZE")
  })

// --- internal

/** Every twentieth turn is of the first conversation, the others of conversations of four. */
const CONVERSATION = "(CASE WHEN n % 20 = 0 THEN 1 ELSE 2 + (n - n / 20 - 1) / 4 END)"

/** How many turns of its conversation are before it. */
const PLACE = "(CASE WHEN n % 20 = 0 THEN n / 20 - 1 ELSE (n - n / 20 - 1) % 4 END)"

/** Five of eight newest turns of conversations of four have failed: some 15 % of all. */
const STATUS = `(CASE WHEN n % 20 = 19 THEN 'aborted' WHEN n % 20 <> 0 AND ${PLACE} = 3 AND n % 32 < 20 THEN 'failed'
  ELSE 'completed' END)`

/** Words without a pattern that a database could compress away. */
const text = (seed: number, length: number): string => {
  let state = seed
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const vocabulary = Array.from({ length: 600 }, () =>
    Array.from({ length: 2 + next(8) }, () => "abcdefghiklmnoprstuvw"[next(21)]).join("")
  )
  let words = ""
  while (words.length < length) words += `${vocabulary[next(600)]} `
  return words
}
