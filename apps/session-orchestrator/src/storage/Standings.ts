/**
 * Stores cooldowns and limits of targets and credentials (rules P7, P8).
 *
 * All turns and all runners of a database share them, and they survive a restart.
 *
 * Standings.N1. A noted pause is visible to this process from then on, and to others within `NEWS_MS`. Noting it again changes nothing; of two
 *     pauses of one thing the later end stays (`Standing.merge`).
 * Standings.N2. Of like pauses within `NEWS_MS` the first is written: what is stored is older than what is known by less than that.
 */
import type { StorageError } from "@holdfast/journal"
import { Standing } from "@holdfast/policy"
import { Array, Context, Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { Rows, type SqlDatabase } from "@holdfast/journal/sql"
import * as ProviderName from "../base/text/ProviderName.ts"

/** Stores the pauses of targets and credentials. */
export class Standings extends Context.Service<
  Standings,
  {
    /** The pauses in force at a moment in epoch milliseconds. */
    readonly load: (now: number) => Effect.Effect<Standing.Standing, StorageError>
    /** Adds the findings of a turn at a moment in epoch milliseconds; pauses that had ended by then may be deleted. */
    readonly note: (changes: Standing.Standing, now: number) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Standings") {}

/** Makes the port. */
export const make = Effect.fnUntraced(function* ({ reads, sql, writes }: SqlDatabase.SqlDatabase) {
  const load = yield* reads(
    () => BETTER_LEFT_ALONE,
    (times: ReadonlyArray<number>) =>
      Effect.map(sql`SELECT kind, name, pause FROM standings WHERE until > ${Math.min(...times)}`, (rows) => {
        const standing = standingOf(readable(rows))
        return new Map(times.map((now) => [now, Standing.expire(standing, now)]))
      })
  )
  const note = writes(() => `record ${BETTER_LEFT_ALONE}`, noteAll(sql))
  return remembering({
    load: (now) => Effect.map(load(now), (found) => Option.getOrElse(found, () => Standing.empty)),
    note: (...found) => note(found)
  })
})

/** Within so many milliseconds a pause is no news: in an outage, thousands of turns find the same. */
export const NEWS_MS = 1_000

/** Keeps in memory what this process has noted, and reads what the others have. What needs no database is an `Exit`. */
export const remembering = ({ load, note }: Standings["Service"]): Standings["Service"] => {
  let known = Standing.empty
  let stored = Standing.empty
  let readAt = -Infinity
  return {
    load: (now) => {
      known = Standing.expire(known, now)
      if (Math.abs(now - readAt) < NEWS_MS) return Effect.succeed(known)
      return Effect.map(load(now), (read) => {
        readAt = now
        stored = Standing.merge(Standing.expire(stored, now), read)
        return (known = Standing.merge(known, read))
      })
    },
    note: (changes, now) => {
      known = Standing.merge(known, changes)
      const news = newsOf(changes, stored, known)
      if (Standing.isEmpty(news)) return Effect.void
      return Effect.map(note(news, now), () => void (stored = Standing.merge(stored, news)))
    }
  }
}

/** The same for what begins although the database is away: then nothing is known. */
export const orUnknown = ({ load, note }: Standings["Service"]): Standings["Service"] => ({
  load: (now) => Effect.catchEager(load(now), () => Effect.succeed(Standing.empty)),
  note
})

/** The same for calls with a client's own key, by its account: what they find concerns no call of another account. */
export const ofClient = ({ load, note }: Standings["Service"], accountOf: () => string): Standings["Service"] => {
  let known: string | undefined
  const own = (): string => (known ??= accountOf())
  return {
    load: (now) =>
      Effect.mapEager(load(now), (standing) =>
        renamed(standing, (provider) =>
          ProviderName.accountOf(provider) === own()
            ? ProviderName.withClientKey(ProviderName.configured(provider))
            : provider
        )
      ),
    note: (changes, now) =>
      note(
        renamed(changes, (provider) =>
          ProviderName.hasClientKey(provider) ? ProviderName.ofAccount(provider, own()) : provider
        ),
        now
      )
  }
}

/** Adds findings, those of one commit as one, and deletes pauses that have ended. */
const noteAll = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (all: ReadonlyArray<readonly [changes: Standing.Standing, now: number]>) {
    const changes = all.map(([changes]) => changes).reduce(Standing.merge)
    const names = Array.dedupe(rowsOf(changes).map(({ name }) => name))
    const known = names.length === 0 ? Standing.empty : standingOf(readable(yield* held(sql, names)))
    const news = rowsOf(Standing.merge(known, changes)).filter(({ kind, name }) => changes[kind][name] !== undefined)
    yield* sql`DELETE FROM standings WHERE until <= ${Math.min(...all.map(([, now]) => now))}`
    for (const row of news) {
      yield* sql`
        INSERT INTO standings ${sql.insert(row)} ${Rows.replacing(sql, "kind, name", ["until", "pause"])}
        WHERE excluded.until >= standings.until`
    }
    return all.map(() => undefined)
  })

// --- internal

/** The entries of changes whose pauses are unlike the stored ones, as they are known. */
const newsOf = (changes: Standing.Standing, stored: Standing.Standing, known: Standing.Standing): Standing.Standing =>
  mapped(changes, ({ kind, name }, { cleared, pauses }) => {
    const like = stored[kind][name]?.pauses ?? []
    const isNews = cleared !== undefined || !pauses.every((pause) => like.some((other) => isLike(pause, other)))
    const entry = known[kind][name]
    return isNews && entry !== undefined ? [[name, entry]] : []
  })

/** Whether two turns have found the same pause, within a short time. */
const isLike = (pause: Standing.Pause, { askedUntil, reason, retryable, since = 0, until }: Standing.Pause): boolean =>
  pause.reason === reason &&
  pause.retryable === retryable &&
  Math.abs((pause.since ?? 0) - since) < NEWS_MS &&
  pause.until - until < NEWS_MS &&
  (pause.askedUntil ?? 0) - (askedUntil ?? 0) < NEWS_MS

/** With other names of providers. */
const renamed = (standing: Standing.Standing, rename: (provider: string) => string): Standing.Standing =>
  mapped(standing, ({ name }, entry) => [[name.replace(/^[^/]*/u, rename), entry]])

/** A standing with what a function makes of each entry. */
const mapped = (
  standing: Standing.Standing,
  change: (thing: Standing.Thing, entry: Standing.Entry) => ReadonlyArray<readonly [string, Standing.Entry]>
): Standing.Standing =>
  Standing.ofKinds((kind) =>
    Object.fromEntries(Object.entries(standing[kind]).flatMap(([name, entry]) => change({ kind, name }, entry)))
  )

const BETTER_LEFT_ALONE = "which targets and credentials are better left alone"

/**
 * Reads the rows of some names and locks them until the transaction ends: of two runners that had read the same row, the second would
 * overwrite the changes of the first. Rows are locked in one order, which prevents a deadlock.
 */
const held = (sql: SqlClient.SqlClient, names: ReadonlyArray<string>) => sql`
  SELECT kind, name, pause FROM standings WHERE ${sql.in("name", names)} ORDER BY kind, name ${Rows.locking(sql, "FOR UPDATE")}`

const Row = Schema.Struct({
  kind: Schema.Literals(Standing.KINDS),
  name: Schema.String,
  pause: Schema.fromJsonString(Standing.Entry)
})
const decodeRow = Schema.decodeUnknownOption(Row)

const readable = (rows: ReadonlyArray<unknown>): ReadonlyArray<typeof Row.Type> =>
  Array.getSomes(rows.map((row) => decodeRow(row)))

const standingOf = (rows: ReadonlyArray<typeof Row.Type>): Standing.Standing =>
  Standing.ofKinds((kind) =>
    Object.fromEntries(rows.filter((row) => row.kind === kind).map(({ name, pause }) => [name, pause]))
  )

const rowsOf = (standing: Standing.Standing) =>
  Standing.KINDS.flatMap((kind) =>
    Object.entries(standing[kind]).map(([name, entry]) => ({
      kind,
      name,
      until: Standing.endOf(entry),
      pause: JSON.stringify(entry)
    }))
  )
