/**
 * The `Store`, the `Journal` and the `Standings` on a SQLite file, on a thread of its own.
 *
 * `SqlStore` does the work, over there: it waits for the disk, and its statements, its commits and the checking of rows take
 * nothing from the thread that runs the turns. Here a call is put into words, and its answer is read. Why it is so, and what was
 * not done, is in docs/decisions/0012-a-thread-for-the-database.md.
 *
 * H1. What the ports promise (W1-W4, J1, J2, N1) is kept: a call that has succeeded was committed there.
 * H2. A thread that dies fails the calls that it has not answered, each once, and another one opens the file for the next call.
 *     Whoever repeats what it was to write finds it there, or writes it: either way it is there once (W2, J2).
 * H3. The layer ends when what was handed in has been written, the file is closed and the thread is gone.
 */
import type { Ids } from "@holdfast/wire"
import { Context, Effect, Layer, type Scope } from "effect"
import { Journal, JournalConflict } from "./Journal.ts"
import type { Storage } from "./SqlStore.ts"
import { Standings } from "./Standings.ts"
import { StorageError, Store } from "./Store.ts"
import { encoded, paged } from "./StoredEvents.ts"
import * as Calls from "./thread/Calls.ts"
import { DatabaseThread } from "./thread/DatabaseThread.ts"
import { Start } from "./thread/Start.ts"

/** A store on a SQLite file, which is made, for its owner alone, where there is none. */
export const layer = (options: { readonly path: string }): Layer.Layer<Storage, StorageError> =>
  Layer.effectContext(Effect.map(make(options.path), portsOf))

// --- internal

type Ask = <In, Out>(call: Calls.Call<In, Out>, input: In) => Effect.Effect<Out, StorageError>

/** One thread after the other; the first is open when this has succeeded (H2). */
const make = Effect.fnUntraced(function* (path: string): Effect.fn.Return<Ask, StorageError, Scope.Scope> {
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
  return (call, input) => Effect.callback((resume) => (thread ??= begin()).ask(call, input, resume))
})

const portsOf = (ask: Ask): Context.Context<Storage> => {
  const store = Store.of({
    createConversation: (conversation) => ask(Calls.createConversation, conversation),
    conversation: (id) => ask(Calls.conversation, id),
    setAutoRetry: (id, enabled) => ask(Calls.setAutoRetry, { id, enabled }),
    acceptTurn: (turn, opening) =>
      Effect.suspend(() => ask(Calls.acceptTurn, { turn, opening: opening?.map(encoded) })),
    turn: (id) => ask(Calls.turn, id),
    resumption: (id) => ask(Calls.resumption, id),
    lastTurn: (id) => ask(Calls.lastTurn, id),
    unsealedTurns: ask(Calls.unsealedTurns, undefined),
    unsealedTurnsOf: (id) => ask(Calls.unsealedTurns, id),
    appendEvents: (conversationId, turnId, events, position) =>
      Effect.suspend(() => ask(Calls.appendEvents, { conversationId, turnId, events: events.map(encoded), position })),
    events: (id: Ids.ConversationId, after: number) => paged(after, (after) => ask(Calls.page, { id, after })),
    turnEvents: (id) => ask(Calls.turnEvents, id),
    messages: (id) => ask(Calls.messages, id),
    check: ask(Calls.check, undefined)
  })
  const journal = Journal.of({
    load: (turnId) => ask(Calls.load, turnId),
    append: (turnId, seq, ...records) =>
      Effect.flatMap(ask(Calls.append, { turnId, seq, records }), (holds) =>
        holds ? Effect.void : Effect.fail(new JournalConflict({ turnId }))
      ),
    forget: (sealedBefore, after) => ask(Calls.forget, { sealedBefore, after })
  })
  const standings = Standings.of({
    load: (now) => ask(Calls.loadStandings, now),
    note: (changes, now) => ask(Calls.note, { changes, now })
  })
  return Context.make(Store, store).pipe(Context.add(Journal, journal), Context.add(Standings, standings))
}
