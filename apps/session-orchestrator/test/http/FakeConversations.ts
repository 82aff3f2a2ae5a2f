/**
 * Fakes conversations for tests of transports: the test emits their frames.
 *
 * It keeps the promises of the port: a turn is accepted once, frames arrive in the chunks in which they were emitted, persisted
 * frames are numbered, and a watcher that falls behind fails with `SubscriberTooSlow`.
 */
import { StorageError } from "@holdfast/journal"
import { defined, Ids, Prompt, TurnEvent, type DryRunReport } from "@holdfast/wire"
import { Deferred, Effect, Exit, Layer, Queue, Stream } from "effect"
import {
  ConversationNotFound,
  Conversations,
  type CreateOptions,
  type Frame,
  SubscriberTooSlow,
  TurnConflict,
  TurnNotFound,
  type TurnResult
} from "../../src/engine/conversation/Conversations.ts"
import * as DryRuns from "../../src/insight/dry-run/DryRuns.ts"
import { HealthReports } from "../../src/insight/inspection/endpoints/HealthReports.ts"
import { PeriodReports } from "../../src/insight/inspection/period/PeriodReports.ts"
import { TurnLists } from "../../src/insight/inspection/TurnLists.ts"
import { StoredTurns } from "../../src/insight/inspection/StoredTurns.ts"
import { BulkRun } from "../../src/http/BulkRun.ts"
import { Removal } from "../../src/engine/orchestrator/Removal.ts"
import { Submissions } from "../../src/engine/orchestrator/Submissions.ts"
import { TurnLog } from "../../src/storage/TurnLog.ts"
import { Store } from "../../src/storage/Store.ts"

type Watcher = Queue.Queue<ReadonlyArray<Frame>, SubscriberTooSlow>

interface Turn {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  readonly prompt: string | undefined
  readonly isSubmitted: boolean
  readonly chunks: Array<ReadonlyArray<Frame>>
  readonly watchers: Set<Watcher>
  readonly result: Deferred.Deferred<TurnResult, StorageError>
  /** A client waits for the result. */
  readonly awaited: Deferred.Deferred<void>
}

interface Conversation {
  options: CreateOptions
  readonly chunks: Array<ReadonlyArray<Frame>>
  readonly watchers: Set<Watcher>
  lastId: number
  autoRetryEnabled: boolean
}

/** The chunks that may wait for a watcher before it is dropped. */
const BACKLOG = 64

export const make = () => {
  const conversations = new Map<string, Conversation>()
  const turns = new Map<string, Turn>()
  const arrivals = new Map<string, Deferred.Deferred<Turn>>()
  const calls: Array<string> = []
  const broken = { storage: false, holdsCommands: false, defect: undefined as unknown }
  let ids = 0

  const arrival = (id: string): Deferred.Deferred<Turn> => {
    const found = arrivals.get(id) ?? Deferred.makeUnsafe<Turn>()
    arrivals.set(id, found)
    return found
  }

  const check = Effect.suspend(() =>
    broken.storage ? Effect.fail(new StorageError({ message: "The disk is full." })) : Effect.void
  )

  const existing = (id: Ids.ConversationId) =>
    Effect.suspend((): Effect.Effect<Conversation, ConversationNotFound | StorageError> => {
      if (broken.defect !== undefined) return Effect.die(broken.defect)
      const conversation = conversations.get(id)
      const found = conversation ? Effect.succeed(conversation) : new ConversationNotFound({ conversationId: id })
      return Effect.andThen(check, found)
    })

  const accept = (
    conversationId: Ids.ConversationId,
    prompt: string | undefined,
    { isSubmitted = false, turnId: wanted }: Parameters<Conversations["Service"]["retry"]>[1]
  ) =>
    Effect.flatMap(existing(conversationId), (): Effect.Effect<Ids.TurnId, TurnConflict> => {
      const turnId = wanted ?? Ids.TurnId.make(`t_${++ids}`)
      const known = turns.get(turnId)
      if (known === undefined) {
        const turn: Turn = {
          turnId,
          conversationId,
          prompt,
          isSubmitted,
          chunks: [],
          watchers: new Set(),
          result: Deferred.makeUnsafe(),
          awaited: Deferred.makeUnsafe()
        }
        turns.set(turnId, turn)
        Deferred.doneUnsafe(arrival(turnId), Exit.succeed(turn))
      } else if (known.prompt !== prompt) {
        return Effect.fail(new TurnConflict({ message: `${turnId} is another turn.` }))
      }
      return Effect.succeed(turnId)
    })

  const turn = (id: string): Turn => {
    const found = turns.get(id)
    if (found === undefined) throw new Error(`no turn ${id}`)
    return found
  }

  const watching = (chunks: ReadonlyArray<ReadonlyArray<Frame>>, watchers: Set<Watcher>) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const queue = yield* Effect.acquireRelease(
          Effect.tap(Queue.dropping<ReadonlyArray<Frame>, SubscriberTooSlow>(BACKLOG), (queue) =>
            Effect.sync(() => watchers.add(queue))
          ),
          (queue) => Effect.sync(() => watchers.delete(queue))
        )
        return Stream.fromIterable([...chunks]).pipe(
          Stream.flatMap((chunk) => Stream.fromArray(chunk)),
          Stream.concat(
            Stream.fromEffectRepeat(Queue.take(queue)).pipe(Stream.flatMap((chunk) => Stream.fromArray(chunk)))
          )
        )
      })
    )

  const tell = (watchers: Set<Watcher>, chunk: ReadonlyArray<Frame>) => {
    for (const watcher of watchers) {
      if (Queue.offerUnsafe(watcher, chunk)) continue
      watchers.delete(watcher)
      Effect.runSync(Queue.fail(watcher, new SubscriberTooSlow({ message: "The client is too slow." })))
    }
  }

  const command = (id: Ids.ConversationId, name: string) =>
    Effect.flatMap(existing(id), () => {
      calls.push(name)
      return broken.holdsCommands ? Effect.never : Effect.void
    })

  const service = Conversations.of({
    create: (options) =>
      Effect.sync(() => {
        const id = options.conversationId ?? Ids.ConversationId.make(`c_${++ids}`)
        conversations.set(id, { options, chunks: [], watchers: new Set(), lastId: 0, autoRetryEnabled: true })
        return id
      }),
    prompt: (id, { prompt, ...options }) => accept(id, prompt && Prompt.textOf(prompt), options),
    retry: (id, options) => accept(id, undefined, options),
    result: (id) => Effect.andThen(Deferred.succeed(turn(id).awaited, undefined), Deferred.await(turn(id).result)),
    watchTurn: (id) => {
      const { chunks, watchers } = turn(id)
      return watching(chunks, watchers).pipe(Stream.takeUntil((frame) => frame.event.type === "turn-end"))
    },
    watch: (id, after) =>
      Stream.unwrap(
        Effect.map(existing(id), ({ chunks, watchers }) =>
          watching(chunks, watchers).pipe(Stream.filter((frame) => frame.id === undefined || frame.id > after))
        )
      ),
    abort: (id) => Effect.as(command(id, "abort"), false),
    steer: ({ conversationId, type }) => Effect.as(command(conversationId, type), true),
    change: (command) =>
      Effect.map(existing(command.conversationId), (conversation) => {
        if (command.type === "set-auto-retry") conversation.autoRetryEnabled = command.enabled
        if (command.type === "set-model") conversation.options = { ...conversation.options, model: command.model }
      }),
    counts: Effect.sync(() => ({ running: turns.size, retrying: 0, queued: 0 })),
    state: (conversationId) =>
      Effect.map(existing(conversationId), ({ autoRetryEnabled, options }) => ({
        conversationId,
        status: [...turns.values()].some((turn) => turn.conversationId === conversationId) ? "running" : "idle",
        ...defined({ turnId: [...turns.values()].find(isRunning(conversationId))?.turnId }),
        model: options.model ?? "simulated/steady",
        autoRetryEnabled,
        isRetrying: false,
        queued: []
      })),
    endStreams: () => Effect.void,
    messages: (id) =>
      Effect.map(existing(id), () =>
        [...turns.values()]
          .filter((turn) => turn.conversationId === id && turn.prompt !== undefined)
          .map(({ prompt = "", turnId }) => ({
            role: "user" as const,
            id: Ids.messageIdOf(turnId, 0),
            turnId,
            createdAt: 1,
            content: [{ type: "text" as const, text: prompt }]
          }))
      )
  })

  return {
    calls,
    broken,
    /** The turn, once it was requested. */
    arrival: (id: string) => Deferred.await(arrival(id)),
    turn,
    /** The number of watchers of a conversation. */
    watchersOf: (id: string) => conversations.get(id)?.watchers.size ?? 0,
    /** Emits events of a turn, in one chunk. */
    emit: (id: string, events: ReadonlyArray<TurnEvent.TurnEvent>) => {
      const { chunks, conversationId, watchers } = turn(id)
      const conversation = conversations.get(conversationId)
      if (conversation === undefined) throw new Error(`no conversation ${conversationId}`)
      const chunk = events.map((event): Frame => ({
        event,
        json: JSON.stringify(event),
        id: TurnEvent.isPersisted(event) ? ++conversation.lastId : undefined
      }))
      chunks.push(chunk)
      conversation.chunks.push(chunk)
      tell(watchers, chunk)
      tell(conversation.watchers, chunk)
    },
    layer: Layer.mergeAll(
      Layer.succeed(Conversations, service),
      Layer.succeed(StoredTurns, {
        courses: () => Effect.succeed([]),
        explain: (conversationId, turnId) =>
          Effect.andThen(existing(conversationId), Effect.fail(new TurnNotFound({ conversationId, turnId }))),
        find: (turnId) => Effect.fail(new TurnNotFound({ turnId })),
        conversationOf: (turnId) =>
          Effect.suspend(() => {
            const found = turns.get(turnId)
            return found === undefined
              ? Effect.fail(new TurnNotFound({ turnId }))
              : Effect.succeed(found.conversationId)
          }),
        newestOf: (id) =>
          Effect.sync(() => [...turns.values()].findLast(({ conversationId }) => conversationId === id)?.turnId)
      }),
      Layer.mock(TurnLists, { setTitle: () => Effect.void }),
      Layer.succeed(DryRuns.DryRuns, {
        run: () => Effect.succeed({ report: NOTHING_RAN, outages: [], assumptions: [] }),
        schedule: () => Effect.succeed(DryRuns.scheduleOf({ model: { provider: "test", model: "m" }, retry: {} }))
      }),
      Layer.mock(PeriodReports, {}),
      Layer.mock(HealthReports, { configuration: { entries: [], unused: [], notices: [] } }),
      Layer.succeed(BulkRun, { run: () => Effect.succeed({ turns: [] }), raise: Effect.succeed }),
      Layer.mock(Removal, {}),
      Layer.succeed(Submissions, {
        submit: ({ prompt, turnId, ...options }) =>
          Effect.gen(function* () {
            const conversationId = yield* service.create(options)
            const id = yield* service.prompt(conversationId, { prompt, turnId })
            return { turnId: id, conversationId, isNew: true }
          })
      }),
      Layer.mock(TurnLog, {
        tail: () => Effect.map(check, () => Array.from(turns.values(), (turn) => ({ ...turn, ...UNREAD })))
      }),
      Layer.mock(Store, { check })
    )
  }
}

export type FakeConversations = ReturnType<typeof make>

const isRunning =
  (conversationId: string) =>
  ({ chunks, conversationId: within }: Turn): boolean =>
    within === conversationId && !chunks.flat().some(({ event }) => event.type === "turn-end")

const UNREAD = { model: "simulated/steady", tail: undefined, records: 0, interruption: undefined }

const NONE = {
  turns: 0,
  answered: 0,
  failed: 0,
  waiting: 0,
  calls: 0,
  refused: 0,
  shared: 0,
  failures: [],
  endpoints: []
}

const NOTHING_RAN: DryRunReport.DryRunReport = {
  ...NONE,
  startedAt: 0,
  endedAt: 0,
  waitedMs: { median: 0, longest: 0, total: 0 }
}
