/** The journal in a SQLite file, and its driver over `node:sqlite`. */
export * as DatabaseFile from "./DatabaseFile.ts"
export * as NodeSqlite from "./NodeSqlite.ts"
export * as SqliteClient from "./SqliteClient.ts"
export * as SqliteError from "./SqliteError.ts"
export * as SqliteJournal from "./SqliteJournal.ts"
