/**
 * One disk: a real SQLite database in memory that outlives the processes, behind the commits' simulated outcomes.
 *
 * It stands where `node:sqlite` stands. Everything above is the service's own: client, transactions, group commits, tables.
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

export class Disk {
  /** Commits of the night so far. */
  commits = 0
  readonly database = new real.DatabaseSync(":memory:")
  private readonly world: World
  private readonly outcomeOf: (commit: number) => Outcome | undefined
  private readonly die: (writer: Process | undefined) => void

  constructor(
    world: World,
    outcomeOf: (commit: number) => Outcome | undefined,
    die: (writer: Process | undefined) => void
  ) {
    this.world = world
    this.outcomeOf = outcomeOf
    this.die = die
  }

  /** The process whose transaction is open. */
  writer: Process | undefined

  /** Opens it for the current process. */
  open(): Handle {
    this.recover()
    return new Handle(this, this.world)
  }

  /** What a process that died had not committed is gone. */
  recover(): void {
    if (this.database.isTransaction && this.writer?.isAlive !== true) this.database.exec("ROLLBACK")
  }

  commit(): void {
    const outcome = this.outcomeOf(++this.commits)
    switch (outcome?.type) {
      case undefined:
        return this.database.exec("COMMIT")
      case "slow":
        this.world.stall(outcome.ms)
        return this.database.exec("COMMIT")
      case "refused":
        this.database.exec("ROLLBACK")
        throw failure("database or disk is full", FULL)
      case "unknown":
        this.database.exec("COMMIT")
        throw failure("disk I/O error", IOERR)
      case "dies-before":
        this.die(this.writer)
        throw GONE
      case "dies-after":
        this.database.exec("COMMIT")
        this.die(this.writer)
        throw GONE
      default:
        return outcome satisfies never
    }
  }

  /** Reads for the laws. */
  rows<Row>(sql: string, ...values: ReadonlyArray<string | number>): ReadonlyArray<Row> {
    return this.prepare(sql).all(...values) as ReadonlyArray<unknown> as ReadonlyArray<Row> // the statement names the columns of `Row`
  }

  /** Every row of the database, and its table. */
  get dump(): ReadonlyArray<{ readonly table: string; readonly row: string }> {
    const tables = this.rows<{ readonly name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
    return tables.flatMap(({ name }) =>
      this.rows(`SELECT * FROM "${name}"`).map((row) => ({ table: name, row: JSON.stringify(row) }))
    )
  }

  /** Prepares a statement, once for all processes. */
  prepare(sql: string): sqlite.StatementSync {
    let statement = this.prepared.get(sql)
    if (statement === undefined) this.prepared.set(sql, (statement = this.database.prepare(sql)))
    return statement
  }

  /** The columns of a statement, asked once for all processes: these count them alone. */
  columnsOf(statement: sqlite.StatementSync): ReturnType<sqlite.StatementSync["columns"]> {
    let columns = this.columns.get(statement)
    if (columns === undefined) this.columns.set(statement, (columns = statement.columns()))
    return columns
  }

  private readonly columns = new Map<sqlite.StatementSync, ReturnType<sqlite.StatementSync["columns"]>>()

  private readonly prepared = new Map<string, sqlite.StatementSync>()
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
    return this.owner?.isAlive !== false && this.disk.database.isTransaction && this.disk.writer === this.owner
  }

  exec(sql: string): void {
    this.check(sql)
    // All processes set the same.
    if (!sql.startsWith("PRAGMA") || !this.disk.database.isTransaction) this.disk.database.exec(sql)
  }

  prepare(sql: string): Statement {
    const commit = sql === "COMMIT" ? () => this.disk.commit() : undefined
    return new Statement(this.disk, this.disk.prepare(sql), () => this.check(sql), commit)
  }

  /** The next process opens it again. */
  close(): void {}

  private check(sql: string): void {
    const { disk, owner } = this
    if (owner?.isAlive === false) throw GONE
    if (sql.startsWith("BEGIN")) {
      if (disk.database.isTransaction) throw failure("database is locked", BUSY)
      disk.writer = owner
    } else if (disk.database.isTransaction && disk.writer !== owner && !sql.startsWith("PRAGMA"))
      throw failure("database is locked", BUSY)
  }
}

type Values = ReadonlyArray<sqlite.SQLInputValue>

class Statement {
  private readonly disk: Disk
  private readonly statement: sqlite.StatementSync
  private readonly check: () => void
  private readonly commit: (() => void) | undefined

  constructor(disk: Disk, statement: sqlite.StatementSync, check: () => void, commit: (() => void) | undefined) {
    this.disk = disk
    this.statement = statement
    this.check = check
    this.commit = commit
  }

  columns(): ReturnType<sqlite.StatementSync["columns"]> {
    return this.disk.columnsOf(this.statement)
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
    return this.commit === undefined ? this.statement.run(...values) : this.commit()
  }
}
