/**
 * Everything that the ports to the database are asked, and how it crosses to the thread of the database and back.
 *
 * A call has four parts. Two run where it is made: `ask` puts what it takes, `hear` reads what it gives. Two run on the thread of
 * the database: `serve` reads what it takes and does it, `answer` puts what it gives. What one part puts the other reads, item by
 * item and in the same order.
 */
import type { Standing } from "@holdfast/policy"
import type { Ids, Message } from "@holdfast/wire"
import { Effect, Option, Stream } from "effect"
import type { Journal, Record } from "../Journal.ts"
import type { Standings } from "../Standings.ts"
import type {
  Acceptance,
  Conversation,
  Resumption,
  StorageError,
  Store,
  StoredEvent,
  Turn,
  Unsealed
} from "../Store.ts"
import { type Encoded, PAGE } from "../StoredEvents.ts"
import { type Items, jsonIn, listIn, putJson, putList, type Reader } from "./Items.ts"
import { eventsIn, putEncoded, putRecords, putStored, recordsIn, storedIn } from "./Stored.ts"

/** What the thread of the database serves. */
export interface Ports {
  readonly store: Store["Service"]
  readonly journal: Journal["Service"]
  readonly standings: Standings["Service"]
}

/** A call, as who makes it sees it. */
export interface Call<In, Out> {
  /** Its place among all calls. */
  readonly number: number
  readonly ask: (items: Items, input: In) => void
  readonly hear: (items: Reader, input: In) => Out
}

/** Reads what one call takes, at once, and gives what does it and then puts the answer. */
export type Serve = (ports: Ports, items: Reader) => Effect.Effect<(items: Items) => void, StorageError>

const served: Array<Serve> = []

/** How each call is served, by its number. */
export const all: ReadonlyArray<Serve> = served

const define = <In, Out, Given = Out>(parts: {
  readonly ask: (items: Items, input: In) => void
  readonly serve: (ports: Ports, items: Reader) => Effect.Effect<Given, StorageError>
  readonly answer: (items: Items, given: Given) => void
  readonly hear: (items: Reader, input: In) => Out
}): Call<In, Out> => {
  const { answer, ask, hear, serve } = parts
  served.push((ports, items) => Effect.map(serve(ports, items), (given) => (items) => answer(items, given)))
  return { number: served.length - 1, ask, hear }
}

// The store.

export const createConversation = define({
  ask: (items, conversation: Conversation) => putJson(items, conversation),
  serve: ({ store }, items) => store.createConversation(jsonIn(items)),
  answer: () => {},
  hear: () => {}
})

export const conversation = define({
  ask: (items, id: Ids.ConversationId) => items.push(id),
  serve: ({ store }, items) => store.conversation(items.next()),
  answer: (items, found) => putFound(items, found),
  hear: (items) => foundIn<Conversation>(items)
})

export const setAutoRetry = define({
  ask: (items, { enabled, id }: { readonly id: Ids.ConversationId; readonly enabled: boolean }) =>
    items.push(id, enabled),
  serve: ({ store }, items) => store.setAutoRetry(items.next(), items.next()),
  answer: () => {},
  hear: () => {}
})

/** A turn, with what it says first, if it says something. */
interface Arrival {
  readonly turn: Omit<Turn, "end">
  readonly opening: ReadonlyArray<Encoded> | undefined
}

export const acceptTurn = define({
  ask: (items, { opening, turn }: Arrival) => {
    items.push(turn.turnId, turn.conversationId, turn.prompt, turn.acceptedAt)
    putEncoded(items, opening ?? [])
  },
  serve: ({ store }, items) => {
    const turn: Arrival["turn"] = {
      turnId: items.next(),
      conversationId: items.next(),
      prompt: items.next(),
      acceptedAt: items.next()
    }
    const { events, texts } = eventsIn(items)
    return Effect.map(store.acceptTurn(turn, events), (acceptance) => ({ acceptance, texts }))
  },
  answer: (items, { acceptance, texts }) => {
    items.push(acceptance._tag)
    if (acceptance._tag === "Accepted") putStored(items, acceptance.opening ?? [], texts)
    else putJson(items, acceptance.turn)
  },
  hear: (items, { opening }): Acceptance => {
    const _tag = items.next<Acceptance["_tag"]>()
    if (_tag !== "Accepted") return { _tag, turn: jsonIn(items) }
    const stored = storedIn(items, opening)
    return opening === undefined ? { _tag } : { _tag, opening: stored }
  }
})

export const turn = define({
  ask: (items, id: Ids.TurnId) => items.push(id),
  serve: ({ store }, items) => store.turn(items.next()),
  answer: (items, found) => putFound(items, found),
  hear: (items) => foundIn<Turn>(items)
})

export const resumption = define({
  ask: (items, id: Ids.TurnId) => items.push(id),
  serve: ({ store }, items) => store.resumption(items.next()),
  answer: (items, found) => putFound(items, found),
  hear: (items) => foundIn<Resumption>(items)
})

export const lastTurn = define({
  ask: (items, id: Ids.ConversationId) => items.push(id),
  serve: ({ store }, items) => store.lastTurn(items.next()),
  answer: (items, found) => putFound(items, found),
  hear: (items) => foundIn<Turn>(items)
})

/** Those of one conversation, or of all. */
export const unsealedTurns = define({
  ask: (items, id: Ids.ConversationId | undefined) => items.push(id),
  serve: ({ store }, items) => {
    const id = items.next<Ids.ConversationId | undefined>()
    return id === undefined ? store.unsealedTurns : store.unsealedTurnsOf(id)
  },
  answer: (items, turns) =>
    putList(items, turns, ({ conversationId, model, tail, turnId }) =>
      items.push(turnId, conversationId, model, tail?.name, tail?.value)
    ),
  hear: (items) =>
    listIn(items, (): Unsealed => {
      const turn = { turnId: items.next<Ids.TurnId>(), conversationId: items.next<Ids.ConversationId>() }
      const model = items.next<string>()
      const name = items.next<string | undefined>()
      const value = items.next<string | undefined>()
      return { ...turn, model, tail: name === undefined || value === undefined ? undefined : { name, value } }
    })
})

/** What a turn says. */
interface Said {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly events: ReadonlyArray<Encoded>
  readonly position: number
}

export const appendEvents = define({
  ask: (items, { conversationId, events, position, turnId }: Said) => {
    items.push(conversationId, turnId, position)
    putEncoded(items, events)
  },
  serve: ({ store }, items) => {
    const conversationId = items.next<Ids.ConversationId>()
    const turnId = items.next<Ids.TurnId>()
    const position = items.next<number>()
    const { events, texts } = eventsIn(items)
    const stored: Effect.Effect<ReadonlyArray<StoredEvent>, StorageError> = events === undefined
      ? Effect.succeed([])
      : store.appendEvents(conversationId, turnId, events, position)
    return Effect.map(stored, (stored) => ({ stored, texts }))
  },
  answer: (items, { stored, texts }) => putStored(items, stored, texts),
  hear: (items, { events }) => storedIn(items, events)
})

/** The next events of a conversation, `PAGE` of them or the last ones. */
export const page = define({
  ask: (items, { after, id }: { readonly id: Ids.ConversationId; readonly after: number }) => items.push(id, after),
  serve: ({ store }, items) => Stream.runCollect(Stream.take(store.events(items.next(), items.next()), PAGE)),
  answer: (items, stored) => putStored(items, stored),
  hear: (items) => storedIn(items)
})

export const turnEvents = define({
  ask: (items, id: Ids.TurnId) => items.push(id),
  serve: ({ store }, items) => store.turnEvents(items.next()),
  answer: (items, stored) => putStored(items, stored),
  hear: (items) => storedIn(items)
})

export const messages = define({
  ask: (items, id: Ids.ConversationId) => items.push(id),
  serve: ({ store }, items) => store.messages(items.next()),
  answer: (items, messages) => putJson(items, messages),
  hear: (items) => jsonIn<ReadonlyArray<Message.Message>>(items)
})

export const check = define<void, void>({
  ask: () => {},
  serve: ({ store }) => store.check,
  answer: () => {},
  hear: () => {}
})

// The journal.

export const load = define({
  ask: (items, id: Ids.TurnId) => items.push(id),
  serve: ({ journal }, items) => journal.load(items.next()),
  answer: (items, records) => putRecords(items, records),
  hear: (items) => recordsIn(items)
})

/** Records of a turn, and the place of the first of them. */
interface Recorded {
  readonly turnId: Ids.TurnId
  readonly seq: number
  readonly records: ReadonlyArray<Record>
}

/** Gives whether their places hold them; where they do not, that is a conflict. */
export const append = define({
  ask: (items, { records, seq, turnId }: Recorded) => {
    items.push(turnId, seq)
    putRecords(items, records)
  },
  serve: ({ journal }, items) => {
    const turnId = items.next<Ids.TurnId>()
    const seq = items.next<number>()
    const [first, ...rest] = recordsIn(items)
    if (first === undefined) return Effect.succeed(true)
    return journal.append(turnId, seq, first, ...rest).pipe(
      Effect.as(true),
      Effect.catchTag("JournalConflict", () => Effect.succeed(false))
    )
  },
  answer: (items, holds) => items.push(holds),
  hear: (items) => items.next<boolean>()
})

export const forget = define({
  ask: (items, { after, sealedBefore }: { readonly sealedBefore: number; readonly after: Ids.TurnId | undefined }) =>
    items.push(sealedBefore, after),
  serve: ({ journal }, items) => journal.forget(items.next(), items.next()),
  answer: (items, { forgotten, next }) => items.push(forgotten, next),
  hear: (items) => ({ forgotten: items.next<number>(), next: items.next<Ids.TurnId | undefined>() })
})

// What is known of targets and credentials.

export const loadStandings = define({
  ask: (items, now: number) => items.push(now),
  serve: ({ standings }, items) => standings.load(items.next()),
  answer: (items, standing) => putJson(items, standing),
  hear: (items) => jsonIn<Standing.Standing>(items)
})

export const note = define({
  ask: (items, { changes, now }: { readonly changes: Standing.Standing; readonly now: number }) => {
    putJson(items, changes)
    items.push(now)
  },
  serve: ({ standings }, items) => standings.note(jsonIn(items), items.next()),
  answer: () => {},
  hear: () => {}
})

// --- internal

const putFound = <A>(items: Items, found: Option.Option<A>): void => putJson(items, Option.getOrUndefined(found))

const foundIn = <A>(items: Reader): Option.Option<A> => Option.fromUndefinedOr(jsonIn<A | undefined>(items))
