/**
 * Implements `Store`, `Journal`, `Standings` and `Interruptions` on a SQL database.
 *
 * The SQL is common to SQLite and PostgreSQL; where they differ, in column types, in joining texts and in splitting lists, the code
 * branches on the dialect. Writes go through `GroupCommit`; reads go to the database directly and hold nothing open. Both survive a
 * database that is away for some seconds (`Patience`).
 */
import { type Interruption, type Journal as Port, JournalConflict, StorageError } from "@holdfast/journal"
import { type Ids, LongJson, TurnEvent } from "@holdfast/wire"
import { Cause, Context, Duration, Effect, Exit, identity, Layer, Option, type Schema, Stream } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as Acceptances from "./Acceptances.ts"
import * as ConversationTable from "../tables/ConversationTable.ts"
import * as Damage from "../sqlite/Damage.ts"
import * as DatabaseFile from "../sqlite/DatabaseFile.ts"
import * as EventTable from "../tables/EventTable.ts"
import * as DatabaseCheck from "./DatabaseCheck.ts"
import * as GroupCommit from "./GroupCommit.ts"
import * as GroupRead from "./GroupRead.ts"
import { Interruptions } from "../Interruptions.ts"
import * as InterruptionTable from "../tables/InterruptionTable.ts"
import { Journal } from "../Journal.ts"
import * as JournalTable from "../tables/JournalTable.ts"
import * as Migrations from "../migrations/Migrations.ts"
import * as Patience from "../Patience.ts"
import * as PostgresTransaction from "./PostgresTransaction.ts"
import * as Resumptions from "./Resumptions.ts"
import * as SqliteClient from "../sqlite/SqliteClient.ts"
import * as StorageFailure from "../StorageFailure.ts"
import * as StandingTable from "../tables/StandingTable.ts"
import { Standings } from "../Standings.ts"
import { Store, type StoredEvent } from "../Store.ts"
import * as TurnTable from "../tables/TurnTable.ts"
import * as TurnWrites from "./TurnWrites.ts"

/** Events a page: some hundred kilobytes of an ordinary conversation. */
export const PAGE = 256

/** Turns whose journals are deleted in one commit: some hundred rows, some milliseconds of the thread. */
const FORGOTTEN_AT_ONCE = 32

/** Small rows a query. */
const READS_AT_ONCE = 64

/** The ports that a database implements. */
export type Storage = Store | Journal | Standings | Interruptions

/** The time limit of `Store.check`, shorter than the limit after which a database counts as silent. */
const CHECK_LIMIT = Duration.millis(1500)

/** A hundred thousand turns are read in seconds. */
const LONG_READ_LIMIT = Duration.minutes(2)

/** Characters of a UUID, enough to distinguish the writers of one turn: they are in each of its rows. */
const WRITER_LENGTH = 13

/** The errors of a table's functions. */
type Failure = SqlError.SqlError | Schema.SchemaError

/**
 * A store on a SQLite file. A missing file is created with access for its owner only; `:memory:` is no file.
 *
 * **Gotchas**
 *
 * This layer does not keep two processes from running the same turns: `Tenancy` does.
 */
export const layer = (options: { readonly path: string }): Layer.Layer<Storage, StorageError> =>
  options.path === DatabaseFile.MEMORY
    ? layerMemory
    : Layer.unwrap(Effect.as(DatabaseFile.prepare(options.path), layerSqlite({ filename: options.path })))

/** A store in memory, which ends with the layer. */
export const layerMemory: Layer.Layer<Storage, StorageError> = Layer.suspend(() =>
  layerSqlite({ filename: DatabaseFile.MEMORY })
)

/** A store on a SQLite database that exists. */
export const layerSqlite = (config: SqliteClient.Config): Layer.Layer<Storage, StorageError> =>
  layerSql(config.filename, config.filename === DatabaseFile.MEMORY ? undefined : config.filename).pipe(
    Layer.provide(
      Layer.catch(SqliteClient.layer(config), (error) =>
        Layer.effectContext(Effect.fail(StorageFailure.explain(config.filename, "open the database", error)))
      )
    )
  )

/**
 * A store on the `SqlClient` of the context.
 *
 * @param database names the database in errors: its file, or its address without a password
 * @param file the SQLite file to watch for damage; absent for other databases
 */
export const layerSql = (database: string, file?: string): Layer.Layer<Storage, StorageError, SqlClient.SqlClient> =>
  Layer.effectContext(make(database, file))

// --- internal

const make = Effect.fnUntraced(function* (database: string, file: string | undefined) {
  const sql = yield* SqlClient.SqlClient
  const damage = file === undefined ? Damage.none : yield* Damage.make(file)
  const explained = (attempted: string, error: Failure): StorageError => {
    const explained = explain(database, attempted, error)
    if (SqlError.isSqlError(error)) damage.note(error, explained)
    return explained
  }
  const failed = (attempted: string) => Effect.mapError((error: Failure) => explained(attempted, error))
  // A file answers or fails; a server can be silent.
  const isServer = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
  const answered = (limit: Duration.Duration): (<A>(effect: Effect.Effect<A, Failure>) => Effect.Effect<A, Failure>) =>
    isServer ? Patience.within<Failure>(limit, () => StorageFailure.silence(limit)) : identity
  const patiently = <A>(effect: Effect.Effect<A, Failure>) =>
    answered(Patience.SILENCE_LIMIT)(Patience.whileBusy(isBusy)(effect))
  const read =
    (attempted: string) =>
    <A>(effect: Effect.Effect<A, Failure>) =>
      effect.pipe(patiently, failed(`read ${attempted}`))
  /** The last error that concerned all writes: `check` reports it when its time limit is shorter than the database's. */
  let trouble: SqlError.SqlError | undefined

  yield* migrate(database)
  const begin: GroupCommit.Options<Failure>["transaction"] = sql.onDialectOrElse({
    pg: () => PostgresTransaction.make(sql),
    orElse: () => sql.withTransaction
  })
  /** Commits, and savepoints of them, that succeeded. */
  let answers = 0
  const transaction: GroupCommit.Options<Failure>["transaction"] = (effect) =>
    Effect.onExit(begin(effect), (exit) =>
      Effect.sync(() => {
        const error = Exit.isSuccess(exit) ? undefined : Option.getOrUndefined(Exit.findErrorOption(exit))
        if (Exit.isSuccess(exit)) answers++
        else if (SqlError.isSqlError(error) && scopeOf(error) !== "one") trouble = error
      })
    )
  const writer = sql.onDialectOrElse({
    pg: () => globalThis.crypto.randomUUID().slice(0, WRITER_LENGTH),
    orElse: () => undefined
  })
  const group = yield* GroupCommit.make<Failure>({
    transaction,
    scope: scopeOf,
    answered: answered(Patience.SILENCE_LIMIT),
    closed,
    died
  })
  const create = group.lane(ConversationTable.insert(sql))
  const setAutoRetry = group.lane(ConversationTable.setAutoRetry(sql))
  const accept = group.lane(Acceptances.accept(sql), ({ ahead }) => ahead)
  // Behind acceptances: a turn may write while its own is on its way (`Store.acceptTurn`).
  const write = group.lane(TurnWrites.write(sql, writer))
  const forget = group.lane(JournalTable.forget(sql))
  const note = group.lane(StandingTable.note(sql))
  const interrupt = group.lane(InterruptionTable.note(sql))
  const probe = group.lane((times: ReadonlyArray<number>) =>
    Effect.as(
      sql`UPDATE probe SET probed_at = ${Math.max(...times)} WHERE probe_id = 1`,
      times.map(() => undefined)
    )
  )

  const check = DatabaseCheck.make<Failure>({
    probe: (now) =>
      Effect.map(Effect.andThen(EventTable.probe(sql), probe(now)), () => {
        trouble = undefined
      }),
    limit: CHECK_LIMIT,
    silence: () => trouble ?? StorageFailure.silence(CHECK_LIMIT),
    // Savepoints succeed in commits that fail.
    answers: () => (trouble === undefined ? answers : 0)
  })

  const together = <In, Out>(size: number, apply: GroupRead.Apply<In, Out, Failure>) =>
    GroupRead.make(
      size,
      (inputs: ReadonlyArray<In>) => patiently(apply(inputs)),
      (error) => scopeOf(error) !== "one"
    )
  const findConversation = yield* together(READS_AT_ONCE, (ids: ReadonlyArray<Ids.ConversationId>) =>
    Effect.map(ConversationTable.findAll(sql, ids), (found) => ids.map((id) => Option.fromUndefinedOr(found.get(id))))
  )
  const resume = yield* together(Resumptions.AT_ONCE, Resumptions.find(sql))
  const history = yield* together(Resumptions.AT_ONCE, Resumptions.histories(sql))
  const load = yield* together(READS_AT_ONCE, JournalTable.load(sql))

  const events = (id: Ids.ConversationId, after: number) =>
    Stream.paginate(after, (after) =>
      EventTable.page(sql, id, after, PAGE).pipe(
        read(`the events of conversation ${id}`),
        Effect.map((page) => {
          const last = page.length < PAGE ? undefined : page.at(-1)
          return [page, Option.map(Option.fromUndefinedOr(last), (event) => event.id)] as const
        })
      )
    )

  const store = Store.of({
    createConversation: (conversation) =>
      Effect.andThen(
        damage.refuse,
        create(conversation).pipe(failed(`create conversation ${conversation.conversationId}`))
      ),
    conversation: (id) => findConversation(id).pipe(failed(`read conversation ${id}`)),
    setAutoRetry: (conversationId, enabled) =>
      setAutoRetry({ conversationId, enabled }).pipe(failed(`switch automatic retries of ${conversationId}`)),
    acceptTurn: (turn, opening, ahead) =>
      // Encoded here, outside the transaction that others wait for.
      Effect.andThen(
        damage.refuse,
        Effect.flatMap(opening === undefined ? Effect.undefined : Effect.forEach(opening, encoded), (opening) =>
          accept({ turn, opening, ahead })
        ).pipe(failed(`record turn ${turn.turnId}`))
      ),
    turn: (id) => TurnTable.find(sql, id).pipe(read(`turn ${id}`)),
    resumption: (id) =>
      Effect.map(resume(id), Option.fromUndefinedOr).pipe(failed(`read what turn ${id} goes on with`)),
    lastTurn: (id) => TurnTable.last(sql, id).pipe(read(`the last turn of conversation ${id}`)),
    unsealedTurnsOf: (id) => JournalTable.unsealed(sql, id).pipe(read(`the unsealed turns of conversation ${id}`)),
    // Many rows, for which only the start waits.
    unsealedTurns: JournalTable.unsealed(sql).pipe(
      Patience.whileBusy(isBusy),
      answered(LONG_READ_LIMIT),
      failed("read the turns that are not sealed")
    ),
    appendEvents: (conversationId, turnId, events, position) =>
      Effect.flatMap(Effect.forEach(events, encoded), (events) =>
        write({ events: { conversationId, turnId, position, events } })
      ).pipe(failed(`record the events of turn ${turnId}`), Effect.map(Option.getOrThrow)),
    events,
    turnEvents: (id) => EventTable.ofTurn(sql, id).pipe(read(`the events of turn ${id}`)),
    history: (id) => history(id).pipe(failed(`read the messages of conversation ${id}`)),
    messages: (id) => EventTable.messages(sql, id).pipe(read(`the messages of conversation ${id}`)),
    check: Effect.andThen(damage.refuse, failed("read and write")(check))
  })
  const journal = Journal.of({
    load: (turnId) => load(turnId).pipe(failed(`read the journal of turn ${turnId}`)),
    append: (turnId, seq, ...records) =>
      write({ records: { turnId, seq, records } }).pipe(
        failed(recording({ turnId, records })),
        unlessTaken(turnId),
        Effect.asVoid
      ),
    appendAll: (appends) =>
      Effect.map(write.all(appends.map((records) => ({ records }))), (outcomes) =>
        appends.map((append, i): Exit.Exit<void, StorageError | JournalConflict> => {
          const outcome = outcomes[i] ?? Exit.die(new Error("An append has no outcome"))
          if (Exit.isFailure(outcome))
            return Exit.failCause(Cause.map(outcome.cause, (error) => explained(recording(append), error)))
          return Option.isSome(outcome.value) ? Exit.void : Exit.fail(new JournalConflict(append))
        })
      ),
    appendWith: (turnId, seq, records, { conversationId, events, position }) =>
      Effect.flatMap(Effect.forEach(events, encoded), (events) =>
        write({ records: { turnId, seq, records }, events: { conversationId, turnId, position, events } })
      ).pipe(failed(`record what came of turn ${turnId}, with its events`), unlessTaken(turnId)),
    forget: (sealedBefore, after) =>
      Effect.gen(function* () {
        const found = yield* JournalTable.sealed(sql, after, FORGOTTEN_AT_ONCE)
        const old = found.filter(({ endedAt }) => endedAt < sealedBefore).map(({ turnId }) => turnId)
        if (old.length > 0) yield* forget(old)
        return { forgotten: old.length, next: found.at(-1)?.turnId }
      }).pipe(failed("delete the journals of old turns"))
  })
  const standings = Standings.of({
    load: (now) => StandingTable.load(sql, now).pipe(read("which targets and credentials are better left alone")),
    note: (changes, now) =>
      note({ changes, now }).pipe(failed("record which targets and credentials are better left alone"))
  })
  const interrupted = (takesUp: boolean) => (turnId: Ids.TurnId, interruption: Interruption.Interruption) =>
    interrupt({ turnId, interruption, takesUp }).pipe(failed(`record what has interrupted turn ${turnId}`))
  const interruptions = Interruptions.of({
    find: (turnId) => InterruptionTable.find(sql, turnId).pipe(read(`what has interrupted turn ${turnId}`)),
    takeUp: interrupted(true),
    note: interrupted(false)
  })
  return Context.make(Store, store).pipe(
    Context.add(Journal, journal),
    Context.add(Standings, standings),
    Context.add(Interruptions, interruptions)
  )
})

const recording = ({ records, turnId }: Pick<Port.Append, "turnId" | "records">): string =>
  `record ${records.map(({ name }) => name).join(", ")} of turn ${turnId}`

/** J2 */
const unlessTaken =
  (turnId: Ids.TurnId) =>
  <E>(write: Effect.Effect<TurnWrites.Written, E>): Effect.Effect<ReadonlyArray<StoredEvent>, E | JournalConflict> =>
    Effect.flatMap(write, (written) =>
      Option.isNone(written) ? Effect.fail(new JournalConflict({ turnId })) : Effect.succeed(written.value)
    )

/** D6: only a caller that bypasses the types can pass a transient event. */
const encoded = (event: TurnEvent.PersistedEvent) =>
  Effect.suspend(() => {
    const { type }: TurnEvent.TurnEvent = event
    if (TurnEvent.fate[type] !== "persisted") throw new Error(`${type} is transient: it is never stored`)
    return Effect.map(LongJson.stringify(event), (json) => ({ event, json }))
  })

const migrate = (database: string) =>
  Migrations.run.pipe(
    Patience.whileBusy((error) => SqlError.isSqlError(error) && isBusy(error)),
    Effect.mapError((error) => {
      // A migration that failed wraps what the database said.
      const cause = error._tag === "MigrationError" ? error.cause : error
      return SqlError.isSqlError(cause)
        ? StorageFailure.explain(database, "prepare the tables", cause)
        : new StorageError({ message: `Could not use the database ${database}: ${error.message}` })
    })
  )

const explain = (database: string, attempted: string, error: Failure): StorageError =>
  SqlError.isSqlError(error)
    ? StorageFailure.explain(database, attempted, error)
    : StorageFailure.damaged(database, attempted, error.message)

const scopeOf = (error: Failure): "one" | "all" | "busy" =>
  SqlError.isSqlError(error) ? StorageFailure.scopeOf(error) : "one"

const isBusy = (error: Failure): boolean => scopeOf(error) === "busy"

const closed = (): Failure => failure("the database has been closed", undefined)

const died = (cause: Cause.Cause<never>): Failure => failure(Cause.pretty(cause), Cause.squash(cause))

const failure = (message: string, cause: unknown): Failure =>
  new SqlError.SqlError({ reason: new SqlError.UnknownError({ message, cause, operation: "commit" }) })
