/**
 * The `Store`, the `Journal` and the `Standings` on a SQLite file, on a thread of its own.
 *
 * `SqlStore` does the work, over there: it waits for the disk, and its statements, its commits and the checking of rows take
 * nothing from the thread that runs the turns. Here a call is put into words, and its answer is read. Why it is so, and what was
 * not done, is in docs/decisions/0012-a-thread-for-the-database.md.
 *
 * While few calls are under way, what a turn reads on its way to its provider is read here, by a connection of its own: a read that
 * crosses takes twice as long, and waits for the sync of whatever is being committed. A crowd's reads cross: there what counts is
 * this thread's time.
 *
 * H1. What the ports promise (W1-W4, J1, J2, N1) is kept: a call that has succeeded was committed there.
 * H2. A thread that dies fails the calls that it has not answered, each once, and another one opens the file for the next call.
 *     Whoever repeats what it was to write finds it there, or writes it: either way it is there once (W2, J2).
 * H3. The layer ends when what was handed in has been written, the file is closed and the thread is gone.
 */
import type { Ids } from "@holdfast/wire"
import { Context, Effect, Layer, type Scope } from "effect"
import { Journal, JournalConflict } from "./Journal.ts"
import * as SqlStore from "./SqlStore.ts"
import { Standings } from "./Standings.ts"
import { StorageError, Store } from "./Store.ts"
import { encoded, paged } from "./StoredEvents.ts"
import * as Calls from "./thread/Calls.ts"
import { DatabaseThread } from "./thread/DatabaseThread.ts"
import { Start } from "./thread/Start.ts"

/**
 * A store on a SQLite file, which is made, for its owner alone, where there is none.
 *
 * @param crowd from so many calls under way all reads cross, too
 */
export const layer = ({
  crowd = CROWD,
  path
}: {
  readonly path: string
  readonly crowd?: number
}): Layer.Layer<SqlStore.Storage, StorageError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { ask, underWay } = yield* make(path)
      // Opened behind the thread's connection, and closed before it: the last one moves the log into the file.
      const near = yield* Layer.build(SqlStore.layerSqlite({ filename: path, readonly: true }))
      return portsOf(ask, near, () => underWay() < crowd)
    })
  )

// --- internal

/** A turn that is alone makes two calls at once, and a handful of turns are no crowd. */
const CROWD = 8

type Ask = <In, Out>(call: Calls.Call<In, Out>, input: In) => Effect.Effect<Out, StorageError>

/** One thread after the other; the first is open when this has succeeded (H2). */
const make = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<{ readonly ask: Ask; readonly underWay: () => number }, StorageError, Scope.Scope> {
  const start = yield* Start
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  let thread: DatabaseThread | undefined
  let hasOpened = false
  const begin = (): DatabaseThread =>
    new DatabaseThread(start(), path, (why) => {
      thread = undefined
      if (hasOpened) fork(Effect.logError(why))
    })
  const first = begin()
  thread = first
  yield* Effect.addFinalizer(() => {
    const last = thread ?? first
    thread = last // it says what comes too late
    return Effect.promise(() => last.close())
  }) // H3
  const why = yield* Effect.promise(() => first.opened)
  if (why !== undefined) return yield* new StorageError({ message: why })
  hasOpened = true
  return {
    ask: (call, input) => Effect.callback((resume) => (thread ??= begin()).ask(call, input, resume)),
    underWay: () => thread?.underWay ?? 0
  }
})

const portsOf = (
  ask: Ask,
  near: Context.Context<SqlStore.Storage>,
  isQuiet: () => boolean
): Context.Context<SqlStore.Storage> => {
  const here = {
    store: Context.get(near, Store),
    journal: Context.get(near, Journal),
    standings: Context.get(near, Standings)
  }
  /** Reads here, or over there. */
  const read =
    <In, Out>(call: Calls.Call<In, Out>, local: (input: In) => Effect.Effect<Out, StorageError>) =>
    (input: In): Effect.Effect<Out, StorageError> =>
      Effect.suspend(() => (isQuiet() ? local(input) : ask(call, input)))
  const store = Store.of({
    createConversation: (conversation) => ask(Calls.createConversation, conversation),
    conversation: read(Calls.conversation, here.store.conversation),
    setAutoRetry: (id, enabled) => ask(Calls.setAutoRetry, { id, enabled }),
    acceptTurn: (turn, opening) =>
      Effect.suspend(() => ask(Calls.acceptTurn, { turn, opening: opening?.map(encoded) })),
    turn: read(Calls.turn, here.store.turn),
    resumption: read(Calls.resumption, here.store.resumption),
    lastTurn: read(Calls.lastTurn, here.store.lastTurn),
    unsealedTurns: ask(Calls.unsealedTurns, undefined),
    unsealedTurnsOf: (id) => ask(Calls.unsealedTurns, id),
    appendEvents: (conversationId, turnId, events, position) =>
      Effect.suspend(() => ask(Calls.appendEvents, { conversationId, turnId, events: events.map(encoded), position })),
    events: (id: Ids.ConversationId, after: number) => paged(after, (after) => ask(Calls.page, { id, after })),
    turnEvents: read(Calls.turnEvents, here.store.turnEvents),
    messages: (id) => ask(Calls.messages, id),
    check: ask(Calls.check, undefined)
  })
  const journal = Journal.of({
    load: read(Calls.load, here.journal.load),
    append: (turnId, seq, ...records) =>
      Effect.flatMap(ask(Calls.append, { turnId, seq, records }), (holds) =>
        holds ? Effect.void : Effect.fail(new JournalConflict({ turnId }))
      ),
    forget: (sealedBefore, after) => ask(Calls.forget, { sealedBefore, after })
  })
  const standings = Standings.of({
    load: read(Calls.loadStandings, here.standings.load),
    note: (changes, now) => ask(Calls.note, { changes, now })
  })
  return Context.make(Store, store).pipe(Context.add(Journal, journal), Context.add(Standings, standings))
}
