/**
 * Implements `Store`, `Journal`, `Standings` and `Interruptions` on a SQL database.
 *
 * The SQL is common to SQLite and PostgreSQL; where they differ, in column types, in joining texts and in splitting lists, the code
 * branches on the dialect. `SqlDatabase` groups writes and reads; events are the statements that `SqlJournal` commits with records.
 */
import { Interruptions, type StorageError } from "@holdfast/journal"
import {
  DatabaseWait,
  SchemaVersion,
  SqlDatabase,
  InterruptionTable,
  SqlJournal,
  StorageFailure,
  type TableError
} from "@holdfast/journal/sql"
import { DatabaseFile, SqliteClient } from "@holdfast/journal/sqlite"
import { defined, type Ids, LongJson, TurnEvent } from "@holdfast/wire"
import { Array as Arr, Context, Duration, Effect, Layer, Option, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type Events, Journal } from "../EventJournal.ts"
import * as DatabaseSchema from "../DatabaseSchema.ts"
import * as Damage from "../sqlite/Damage.ts"
import * as Standings from "../Standings.ts"
import { promptOf, Store } from "../Store.ts"
import * as ConversationTable from "../tables/ConversationTable.ts"
import * as EventTable from "../tables/EventTable.ts"
import * as SealTable from "../tables/SealTable.ts"
import * as TurnTable from "../tables/TurnTable.ts"
import * as Acceptances from "./Acceptances.ts"
import * as DatabaseCheck from "./DatabaseCheck.ts"
import * as PostgresTransaction from "./PostgresTransaction.ts"
import * as Resumptions from "./Resumptions.ts"
import * as AnsweredCalls from "../AnsweredCalls.ts"
import * as Deletions from "../Deletions.ts"
import * as IncidentStates from "../IncidentStates.ts"
import { Lists } from "../Lists.ts"
import * as Recording from "../Recording.ts"
import * as Outbox from "../Outbox.ts"
import * as ConversationListTable from "../tables/ConversationListTable.ts"
import * as RecordTable from "../tables/RecordTable.ts"
import * as TurnListTable from "../tables/TurnListTable.ts"

/** Events a page: some hundred kilobytes of an ordinary conversation. */
export const PAGE = 256

/** Small rows a query. */
const READS_AT_ONCE = 64

/** The ports that a database implements. */
export type Storage =
  | Store
  | Journal
  | Standings.Standings
  | Interruptions.Interruptions
  | Lists
  | Deletions.Deletions
  | Outbox.Outbox
  | IncidentStates.IncidentStates
  | AnsweredCalls.AnsweredCalls

/** The time limit of `Store.check`, shorter than the limit after which a database counts as silent. */
const CHECK_LIMIT = Duration.millis(1500)

/** A hundred thousand turns are read in seconds. */
const LONG_READ_LIMIT = Duration.minutes(2)

/** Characters of a UUID, enough to distinguish the writers of one turn: they are in each of its rows. */
const WRITER_LENGTH = 13

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

const make = Effect.fnUntraced(function* (name: string, file: string | undefined) {
  const sql = yield* SqlClient.SqlClient
  const damage = file === undefined ? Damage.none : yield* Damage.make(file)
  yield* SchemaVersion.bring(name, DatabaseSchema.versions)
  const writer = sql.onDialectOrElse({
    pg: () => globalThis.crypto.randomUUID().slice(0, WRITER_LENGTH),
    orElse: () => undefined
  })
  const isServer = writer !== undefined
  const database = yield* SqlDatabase.make({
    database: name,
    isServer,
    onError: damage.note,
    ...defined({ transaction: isServer ? PostgresTransaction.make(sql) : undefined })
  })
  const { failed, lane, read, together } = database
  const create = lane(ConversationTable.insert(sql))
  const setAutoRetry = lane(ConversationTable.setAutoRetry(sql))
  const setModel = lane(ConversationTable.setModel(sql))
  const setToolAnswers = lane(ConversationTable.setToolAnswers(sql))
  const noteDeath = lane(SealTable.addDeaths(sql))
  const accept = lane(Acceptances.accept(sql))
  const journaling = yield* SqlJournal.make(database, {
    tables: RecordTable.TABLES,
    statements: EventTable.append(sql),
    sealed: (after, limit) => SealTable.sealed(sql, after, limit),
    writer
  })
  const interruptions = InterruptionTable.make(database, RecordTable.TABLES)
  const probe = lane((times: ReadonlyArray<number>) =>
    Effect.as(
      sql`UPDATE probe SET probed_at = ${Math.max(...times)} WHERE probe_id = 1`,
      times.map(() => undefined)
    )
  )
  const check = DatabaseCheck.make<TableError>({
    probe: (now) =>
      Effect.tap(Effect.andThen(EventTable.probe(sql), probe(now)), () => Effect.sync(database.forgetTrouble)),
    limit: CHECK_LIMIT,
    silence: () => database.trouble() ?? StorageFailure.silence(CHECK_LIMIT),
    // Savepoints succeed in commits that fail.
    answers: () => (database.trouble() === undefined ? database.commits() : 0)
  })

  const findConversation = yield* together(READS_AT_ONCE, (ids: ReadonlyArray<Ids.ConversationId>) =>
    Effect.map(ConversationTable.findAll(sql, ids), (found) => ids.map((id) => Option.fromUndefinedOr(found.get(id))))
  )
  const resumptions = yield* Resumptions.make(database)
  const loadRecords = yield* together(READS_AT_ONCE, RecordTable.load(sql))
  const recordOutline = yield* together(READS_AT_ONCE, RecordTable.outlines(sql))
  const findTurn = yield* together(READS_AT_ONCE, (ids: ReadonlyArray<Ids.TurnId>) => TurnTable.findEach(sql, ids))
  const findLast = yield* together(READS_AT_ONCE, (ids: ReadonlyArray<Ids.ConversationId>) =>
    TurnTable.lastEach(sql, ids)
  )
  const findUnsealed = yield* together(READS_AT_ONCE, SealTable.unsealedOfEach(sql))

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
    setModel: (conversationId, model, at) =>
      setModel({ conversationId, model, at }).pipe(failed(`change the model of ${conversationId}`)),
    setToolAnswers: (conversationId, answers) =>
      setToolAnswers({ conversationId, answers }).pipe(failed(`record the answers about tools of ${conversationId}`)),
    acceptTurn: (turn, { isNew = false, isOpened = false } = {}) =>
      // Encoded here, outside the transaction that others wait for.
      Effect.andThen(
        damage.refuse,
        Effect.flatMap(isOpened ? Acceptances.openingOf(turn) : Effect.undefined, (opening) =>
          accept({ turn, opening, isNew })
        ).pipe(failed(`record turn ${turn.turnId}`))
      ),
    turn: (id) => Effect.map(findTurn(id), Option.fromUndefinedOr).pipe(failed(`read turn ${id}`)),
    prompt: (id) =>
      TurnTable.findAll(sql, [id]).pipe(
        read(`the prompt of turn ${id}`),
        Effect.map(([turn]) => turn && promptOf(turn))
      ),
    resumption: (id) =>
      Effect.map(resumptions.find(id), Option.fromUndefinedOr).pipe(failed(`read what turn ${id} goes on with`)),
    lastTurn: (id) =>
      Effect.map(findLast(id), Option.fromUndefinedOr).pipe(failed(`read the last turn of conversation ${id}`)),
    unsealedTurnsOf: (id) => findUnsealed(id).pipe(failed(`read the unsealed turns of conversation ${id}`)),
    // Many rows, for which only the start waits.
    unsealedTurns: SealTable.unsealed(sql).pipe(
      DatabaseWait.whileBusy(SqlDatabase.isBusy),
      database.answered(LONG_READ_LIMIT),
      failed("read the turns that are not sealed")
    ),
    appendEvents: (conversationId, turnId, events, position) =>
      Effect.flatMap(Effect.forEach(events, encoded), (events) =>
        journaling.run({ conversationId, turnId, position, events })
      ).pipe(failed(`record the events of turn ${turnId}`)),
    events,
    turnEvents: (id) => EventTable.ofTurn(sql, id).pipe(read(`the events of turn ${id}`)),
    turnOutline: (id) => EventTable.outlineOf(sql, id).pipe(read(`the events of turn ${id}`)),
    turnDigest: (id) => EventTable.digestOf(sql, id).pipe(read(`the events of turn ${id}`)),
    recordOutline: (id) => recordOutline(id).pipe(failed(`read the journal of turn ${id}`)),
    messages: (id) => EventTable.messages(sql, id).pipe(read(`the messages of conversation ${id}`)),
    noteDeath: (foundAt) => noteDeath(foundAt).pipe(failed("record that the last process died")),
    deaths: (since) => SealTable.deaths(sql, since).pipe(read("the deaths of the service")),
    check: Effect.andThen(damage.refuse, failed("read and write")(check))
  })
  const statementsOf = (turnId: Ids.TurnId, { conversationId, events, position }: Events) =>
    Effect.map(Effect.forEach(events, encoded), (events) => ({ conversationId, turnId, position, events }))
  const journal = Journal.of({
    ...journaling.journal,
    load: (turnId) => loadRecords(turnId).pipe(failed(`read the journal of turn ${turnId}`)),
    appendWith: (turnId, seq, records, events) =>
      Effect.flatMap(statementsOf(turnId, events), (statements) =>
        journaling.journal.appendWith(turnId, seq, Arr.map(records, RecordTable.pack(statements)), statements)
      ),
    appendAll: (appends) =>
      Effect.flatMap(
        Effect.forEach(appends, ({ statements: events, ...append }) =>
          events === undefined
            ? Effect.succeed(append)
            : Effect.map(statementsOf(append.turnId, events), (statements) => ({
                ...append,
                records: append.records.map(RecordTable.pack(statements)),
                statements
              }))
        ),
        journaling.journal.appendAll
      )
  })
  const setTitle = lane(ConversationTable.setTitle(sql))
  const lists = Lists.of({
    setTitle: (conversationId, title) =>
      setTitle({ conversationId, title }).pipe(failed(`set the title of conversation ${conversationId}`)),
    turns: (...query) => TurnListTable.page(sql, ...query).pipe(read("a list of turns")),
    conversations: (...query) => ConversationListTable.page(sql, ...query).pipe(read("a list of conversations")),
    recording: (since, most) => Recording.read(sql, since, most).pipe(read("the record of turns")),
    labelsOf: (turnId) => TurnListTable.labelsOf(sql, turnId).pipe(read(`the labels of turn ${turnId}`))
  })
  return Context.make(Store, store).pipe(
    Context.add(Journal, journal),
    Context.add(Standings.Standings, yield* Standings.make(database)),
    Context.add(Interruptions.Interruptions, interruptions),
    Context.add(Lists, lists),
    Context.add(Deletions.Deletions, Deletions.make(database)),
    Context.add(Outbox.Outbox, Outbox.make(database)),
    Context.add(IncidentStates.IncidentStates, IncidentStates.make(database)),
    Context.add(AnsweredCalls.AnsweredCalls, AnsweredCalls.make(database))
  )
})

/** D6: only a caller that bypasses the types can pass a transient event. */
const encoded = (event: TurnEvent.PersistedEvent) =>
  Effect.suspend(() => {
    const { type }: TurnEvent.TurnEvent = event
    if (TurnEvent.fate[type] !== "persisted") throw new Error(`${type} is transient: it is never stored`)
    return Effect.map(LongJson.stringify(event), (json) => ({ event, json }))
  })
