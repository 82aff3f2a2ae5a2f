import { describe, expect, it } from "@effect/vitest"
import { SqlError } from "effect/sql"
import * as SqliteError from "../../src/sqlite/SqliteError.ts"
import * as StorageFailure from "../../src/sql/StorageFailure.ts"

/** An error that the PostgreSQL driver does not classify: the SQLSTATE is at the cause. */
const postgres = (code: string): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({
      cause: Object.assign(new Error(`said ${code}`), { code }),
      operation: "execute"
    })
  })

/** As `node:sqlite` throws it. */
const sqlite = (errcode: number): SqlError.SqlError =>
  SqliteError.classify(Object.assign(new Error(`said ${errcode}`), { code: "ERR_SQLITE_ERROR", errcode }), "execute")

describe("StorageFailure", () => {
  it("an error of SQLSTATE 22, 23 and 54 affects one write, a restart passes, and other errors affect all", () => {
    for (const state of ["22021", "22001", "22P05", "23502", "23505", "54000", "54001", "54023"]) {
      expect([state, StorageFailure.scopeOf(postgres(state))]).toEqual([state, "one"])
    }
    for (const state of ["53300", "57P01", "57P02", "57P03", "57P05"]) {
      expect([state, StorageFailure.scopeOf(postgres(state))]).toEqual([state, "busy"])
    }
    for (const state of ["53100", "25006", "3D000", "42P01", "58030", "XX000", "XX001", "2", ""]) {
      expect([state, StorageFailure.scopeOf(postgres(state))]).toEqual([state, "all"])
    }
  })

  it("an error of SQLite about one write affects that write, a lock passes, and other errors affect all", () => {
    const SCOPES = { 18: "one", 19: "one", 1555: "one", 5: "busy", 6: "busy", 14: "busy", 262: "busy" } as const
    for (const [code, scope] of Object.entries(SCOPES)) {
      expect([code, StorageFailure.scopeOf(sqlite(Number(code)))]).toEqual([code, scope])
    }
    for (const code of [8, 10, 11, 13, 26, 267, 522]) {
      expect([code, StorageFailure.scopeOf(sqlite(code))]).toEqual([code, "all"])
    }
  })

  it("names the database, the attempt, the database's message and the next step", () => {
    expect(StorageFailure.explain("d.db", "record turn t1", sqlite(13)).message).toBe(
      'Could not record turn t1 in d.db: the database said "said 13". The disk is full. Free some space; a service that runs goes on by itself.'
    )
    expect(StorageFailure.explain("db", "record turn t1", postgres("22021")).message).toMatch(
      /cannot hold what it was given. Other writes are not concerned.$/
    )
    expect(StorageFailure.explain("db", "record turn t1", postgres("XX000")).message).toMatch(/Nothing was written.$/)
    expect(StorageFailure.explain("db", "record turn t1", postgres("57P03")).message).toMatch(
      /turns go on when it is back/
    )
  })
})
