/** Tests the advice for each error of a database. */
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { SqlError } from "effect/sql"
import * as SqliteError from "../../src/sqlite/SqliteError.ts"
import * as StorageFailure from "../../src/sql/StorageFailure.ts"

const postgres = (code: string): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({ cause: Object.assign(new Error("no"), { code }), operation: "execute" })
  })

const sqlite = (errcode: number): SqlError.SqlError =>
  SqliteError.classify(Object.assign(new Error("no"), { code: "ERR_SQLITE_ERROR", errcode }), "execute")

const advice = (error: SqlError.SqlError): string =>
  StorageFailure.explain("d.db", "read", error).message.replace('Could not read in d.db: the database said "no". ', "")

describe("a database that refuses", () => {
  it.each<readonly [code: number, says: RegExp]>([
    [5, /^Another program holds the database\./],
    [6, /^Another program holds the database\./],
    [8, /^Nobody may write there\./],
    [10, /^The disk reported an error\./],
    [11, /^The file is damaged\. Stop Holdfast/],
    [13, /^The disk is full\./],
    [14, /^The file could not be opened\./],
    [18, /^Nothing was written: the database cannot hold what it was given\./],
    [26, /^The file is no SQLite database, or its beginning is destroyed\..* Otherwise: Stop Holdfast/],
    [19, /^Nothing was written: it contradicts what is stored already\.$/],
    [1, /^Nothing was written\.$/]
  ])("SQLite's code %i, with any higher bits", (code, says) => {
    expect(advice(sqlite(code))).toMatch(says)
    expect(advice(sqlite(code + (7 << 8)))).toMatch(says)
  })

  it.each<readonly [state: string, says: RegExp]>([
    ["25006", /^It takes no writes/],
    ["3D000", /^Create the database/],
    ["53100", /^The database's disk is full\./],
    ["53300", /^All its connections are taken\./],
    ["57P01", /^It is going down\./],
    ["57P02", /^It went down\./],
    ["57P03", /^It is starting or stopping\./],
    ["54000", /^Nothing was written: the database cannot hold what it was given\./],
    ["XX000", /^Nothing was written\.$/]
  ])("SQLSTATE %s", (state, says) => {
    expect(advice(postgres(state))).toMatch(says)
  })

  it("is damaged only according to two of SQLite's codes", () => {
    for (const code of [11, 26, 11 + 256, 26 + 512]) expect(StorageFailure.isDamage(sqlite(code))).toBe(true)
    for (const code of [1, 5, 10, 12, 13, 25, 27]) expect(StorageFailure.isDamage(sqlite(code))).toBe(false)
    expect(StorageFailure.isDamage(postgres("XX001"))).toBe(false)
  })

  it("has messages of Holdfast for a missing answer and for a row that was changed", () => {
    const silent = StorageFailure.explain("d.db", "read", StorageFailure.silence(Duration.seconds(8)))
    expect(silent.message).toMatch(
      /^Could not read in d\.db: it has not answered for 8s\. The database cannot be reached\./
    )
    expect(silent.concerns).toBeUndefined()
    const unread = Effect.runSync(Effect.flip(Schema.decodeUnknownEffect(Schema.String)(1)))
    const damaged = StorageFailure.explain("d.db", "read turn t", unread)
    expect(damaged.message).toMatch(
      /^Could not read turn t in d\.db: a row does not hold what Holdfast writes \(.+\)\./
    )
    expect(damaged.concerns).toBe("one")
    expect(StorageFailure.explain("d.db", "write", sqlite(19)).concerns).toBe("one")
    expect(StorageFailure.explain("d.db", "write", sqlite(13)).concerns).toBeUndefined()
  })

  it("is quoted with the driver's message if the cause has none", () => {
    const wordless = new SqlError.SqlError({
      reason: new SqlError.UnknownError({ cause: new Error(""), message: "Failed to connect", operation: "connect" })
    })
    expect(StorageFailure.explain("d.db", "read", wordless).message).toContain('the database said "Failed to connect"')
  })
})
