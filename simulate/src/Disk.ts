/**
 * One disk: a real SQLite database in memory that outlives the processes, behind the commits' simulated outcomes.
 *
 * It stands where `node:sqlite` stands. Everything above is the service's own: client, transactions, group commits, tables. The nights of
 * a JavaScript process have one database after another's rows: to make its tables and prepare its statements takes a tenth of a night.
 */
import type * as sqlite from "node:sqlite"
import process from "node:process"
import type { Process, World } from "./World.ts"

/**
 * What becomes of a commit.
 *
 * - `refused`: nothing is stored. `unknown`: it is stored, and reported as failed. `slow`: the thread waits for it.
 * - `dies-before`, `dies-after`: the process dies right before or after it is stored.
 */
export type Outcome =
  | { readonly type: "refused" | "unknown" | "dies-before" | "dies-after" }
  | { readonly type: "slow"; readonly ms: number }

const real: typeof sqlite = process.getBuiltinModule("node:sqlite")

/** SQLite's result codes. */
const BUSY = 5
const FULL = 13
const IOERR = 10

/** A database, and what is known of it: its rows are of one night, the rest of all. */
export class Database {
  readonly sqlite = new real.DatabaseSync(":memory:")
  private readonly prepared = new Map<string, sqlite.StatementSync>()
  private readonly columns = new Map<sqlite.StatementSync, ReturnType<sqlite.StatementSync["columns"]>>()
  private readonly done = new Set<string>()

  /** Prepares a statement, once for all processes. */
  prepare(sql: string): sqlite.StatementSync {
    let statement = this.prepared.get(sql)
    if (statement === undefined) this.prepared.set(sql, (statement = this.sqlite.prepare(sql)))
    return statement
  }

  /** The columns of a statement, asked once for all processes: these count them alone. */
  columnsOf(statement: sqlite.StatementSync): ReturnType<sqlite.StatementSync["columns"]> {
    let columns = this.columns.get(statement)
    if (columns === undefined) this.columns.set(statement, (columns = statement.columns()))
    return columns
  }

  /** Executes what stays as it is from night to night: settings, and the tables. */
  once(sql: string): void {
    if (this.done.has(sql)) return
    this.sqlite.exec(sql)
    this.done.add(sql)
  }

  get tables(): ReadonlyArray<string> {
    return this.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
      .all()
      .map(({ name }) => String(name))
  }

  /** Removes all rows, those of an open transaction too. */
  empty(): void {
    if (this.sqlite.isTransaction) this.sqlite.exec("ROLLBACK")
    for (const table of this.tables.toReversed()) this.prepare(`DELETE FROM "${table}"`).run() // a table refers to those before it
  }
}

export class Disk {
  /** Commits of the night so far. */
  commits = 0
  readonly database: Database
  private readonly world: World
  private readonly outcomeOf: (commit: number) => Outcome | undefined
  private readonly die: (writer: Process | undefined) => void

  constructor(
    database: Database,
    world: World,
    outcomeOf: (commit: number) => Outcome | undefined,
    die: (writer: Process | undefined) => void
  ) {
    this.database = database
    this.world = world
    this.outcomeOf = outcomeOf
    this.die = die
  }

  private read: ReadonlyArray<{ readonly table: string; readonly row: string }> | undefined

  /** The process whose transaction is open. */
  writer: Process | undefined

  get isTransaction(): boolean {
    return this.database.sqlite.isTransaction
  }

  /** Opens it for the current process. */
  open(): Handle {
    this.recover()
    return new Handle(this, this.world)
  }

  /** What a process that died had not committed is gone. */
  recover(): void {
    if (this.isTransaction && this.writer?.isAlive !== true) this.database.sqlite.exec("ROLLBACK")
  }

  commit(): void {
    const outcome = this.outcomeOf(++this.commits)
    switch (outcome?.type) {
      case undefined:
        return this.database.sqlite.exec("COMMIT")
      case "slow":
        this.world.stall(outcome.ms)
        return this.database.sqlite.exec("COMMIT")
      case "refused":
        this.database.sqlite.exec("ROLLBACK")
        throw failure("database or disk is full", FULL)
      case "unknown":
        this.database.sqlite.exec("COMMIT")
        throw failure("disk I/O error", IOERR)
      case "dies-before":
        this.die(this.writer)
        throw GONE
      case "dies-after":
        this.database.sqlite.exec("COMMIT")
        this.die(this.writer)
        throw GONE
      default:
        return outcome satisfies never
    }
  }

  /** Reads for the laws. */
  rows<Row>(sql: string, ...values: ReadonlyArray<string | number>): ReadonlyArray<Row> {
    return this.database.prepare(sql).all(...values) as ReadonlyArray<unknown> as ReadonlyArray<Row> // the statement names the columns of `Row`
  }

  /** Every row of the database, and its table, at the end of a night: read once. */
  get dump(): ReadonlyArray<{ readonly table: string; readonly row: string }> {
    return (this.read ??= this.database.tables.flatMap((table) =>
      this.rows(`SELECT * FROM "${table}"`).map((row) => ({ table, row: JSON.stringify(row) }))
    ))
  }
}

/** Replaces `node:sqlite` by one disk; returns a function that puts it back. */
export const install = (disk: Disk): (() => void) => {
  const before = process.getBuiltinModule
  const simulated = {
    ...real,
    DatabaseSync: function DatabaseSync() {
      return disk.open()
    }
  }
  process.getBuiltinModule = ((name: string) =>
    name === "node:sqlite" ? simulated : before(name)) as typeof process.getBuiltinModule
  return () => {
    process.getBuiltinModule = before
  }
}

// --- internal

/** The error of every statement of a process that is dead: nothing that follows from it is seen by anyone. */
const GONE = new Error("The process is dead.")

const failure = (message: string, errcode: number): Error =>
  Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode, errstr: message })

/** The part of `DatabaseSync` that the client of the journal uses. */
class Handle {
  private readonly disk: Disk
  private readonly owner: Process | undefined

  constructor(disk: Disk, world: World) {
    this.disk = disk
    this.owner = world.current
  }

  get isTransaction(): boolean {
    return this.owner?.isAlive !== false && this.disk.isTransaction && this.disk.writer === this.owner
  }

  exec(sql: string): void {
    this.check(sql)
    this.disk.database.once(sql) // all processes set the same
  }

  prepare(sql: string): Statement {
    const { database } = this.disk
    const own =
      sql === "COMMIT" ? () => this.disk.commit() : sql.startsWith("CREATE") ? () => database.once(sql) : undefined
    return new Statement(database, sql, () => this.check(sql), own)
  }

  /** The next process opens it again. */
  close(): void {}

  private check(sql: string): void {
    const { disk, owner } = this
    if (owner?.isAlive === false) throw GONE
    if (sql.startsWith("BEGIN")) {
      if (disk.isTransaction) throw failure("database is locked", BUSY)
      disk.writer = owner
    } else if (disk.isTransaction && disk.writer !== owner && !sql.startsWith("PRAGMA"))
      throw failure("database is locked", BUSY)
  }
}

type Values = ReadonlyArray<sqlite.SQLInputValue>

class Statement {
  private readonly database: Database
  private readonly statement: sqlite.StatementSync
  private readonly check: () => void
  private readonly own: (() => void) | undefined

  /** `own` is executed in its place. */
  constructor(database: Database, sql: string, check: () => void, own: (() => void) | undefined) {
    this.database = database
    this.statement = database.prepare(sql)
    this.check = check
    this.own = own
  }

  columns(): ReturnType<sqlite.StatementSync["columns"]> {
    return this.database.columnsOf(this.statement)
  }
  setReadBigInts(enabled: boolean): void {
    this.statement.setReadBigInts(enabled)
  }
  /** The client takes rows either way, and all processes share the statement. */
  setReturnArrays(): void {}
  all(...values: Values): ReturnType<sqlite.StatementSync["all"]> {
    this.check()
    return this.statement.all(...values)
  }
  run(...values: Values): ReturnType<sqlite.StatementSync["run"]> | void {
    this.check()
    return this.own === undefined ? this.statement.run(...values) : this.own()
  }
}
