/**
 * `Conversations` on any runner: what concerns a conversation is done by the orchestrator of the process that owns it.
 *
 * Router.C1. The owner of a held call is the runner that has its client (`Claims`); of any other conversation it is the runner with its shard.
 *     What this runner owns takes no message; what it does not own goes to the owner, and to the next one when that one goes (`Owner`).
 * Router.C2. What needs no owner is done here: a conversation is created, and its history read, in the database.
 */
import { StorageError } from "@holdfast/journal"
import { StorageFailure } from "@holdfast/journal/sql"
import { Push } from "@holdfast/kernel/host"
import { type Command, defined, Ids } from "@holdfast/wire"
import { Effect, Option, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../conversation/Conversations.ts"
import * as TurnCommands from "../conversation/TurnCommands.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import type { Store } from "../storage/Store.ts"
import * as TurnIds from "../storage/TurnIds.ts"
import * as Claims from "./Claims.ts"
import * as Frames from "./Frames.ts"
import * as LocalId from "./LocalId.ts"
import * as Owner from "./Owner.ts"
import * as Remote from "./Remote.ts"

/** What the routes are made from. */
export interface Dependencies extends Omit<Remote.Dependencies, "store"> {
  readonly store: Store["Service"]
  /** Names the database in errors. */
  readonly database: string
}

/** The conversations of all runners. */
export const make = Effect.fnUntraced(function* (dependencies: Dependencies) {
  const { charge, database, own, shards, store } = dependencies
  const sql = yield* SqlClient.SqlClient
  const client = yield* Remote.Remote.client
  const reached = Owner.reached(store.check)
  const isHere = (id: Ids.ConversationId) => Remote.isHere(dependencies, id)
  const runners = new Map<number, ReturnType<typeof client>>()
  const at = (shard: number) => {
    const runner = runners.get(shard) ?? client(idIn(shards.of, shard))
    runners.set(shard, runner)
    return runner
  }
  /** The shard whose owner has a conversation; a held call without a client is looked after by the owner of its own. */
  const shardOf = (
    id: Ids.ConversationId
  ): Effect.Effect<{ readonly shard: number; readonly isAttached: boolean }, StorageError> =>
    HeldCallIds.isHeld(id)
      ? Effect.map(
          Effect.mapError(Claims.shardsOfHolder(sql, id), (error) =>
            StorageFailure.explain(database, "find the runner of a held call", error)
          ),
          ([shard]) => ({ shard: shard ?? shards.of(id), isAttached: shard !== undefined })
        )
      : Effect.sync(() => ({ shard: shards.of(id), isAttached: true }))
  const there = <A, E, R>(
    id: Ids.ConversationId,
    ask: (runner: ReturnType<typeof client>) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | StorageError, R> => Effect.flatMap(shardOf(id), ({ shard }) => ask(at(shard)))
  /** Router.C1. `repeated` asks one owner after the other. */
  const owned = <A, E extends Tagged>(
    id: Ids.ConversationId,
    here: Effect.Effect<A, E>,
    ask: (runner: ReturnType<typeof client>) => Effect.Effect<A, E | Owner.Unreached>,
    repeated: <B, E2 extends Tagged>(
      call: Effect.Effect<B, E2 | Owner.Unreached>
    ) => Effect.Effect<B, E2 | StorageError> = reached
  ): Effect.Effect<A, E | StorageError> => {
    const call = Effect.suspend((): Effect.Effect<A, E | StorageError | Owner.Unreached> =>
      isHere(id) ? here : there(id, ask)
    )
    return Effect.suspend(() =>
      isHere(id)
        ? Effect.catchCause(here, (cause) =>
            Owner.isGoing(cause) ? repeated<A, E | StorageError>(call) : Effect.failCause(cause)
          )
        : repeated<A, E | StorageError>(call)
    )
  }
  /** The turn that a command is for (Remote.E1). */
  const headOf = (id: Ids.ConversationId, meant: Ids.TurnId | undefined) =>
    meant === undefined && !HeldCallIds.isHeld(id)
      ? owned(
          id,
          Effect.sync(() => charge.headOf(id) ?? null),
          (runner) => runner.Head({ id })
        )
      : Effect.succeed(meant ?? null)
  /** A command that finds nothing to do, while the conversation leaves, may find it at the next owner. */
  const found = <E>(id: Ids.ConversationId, command: Effect.Effect<boolean, E>) =>
    Effect.flatMap(command, (isDone) => (isDone || isHere(id) ? Effect.succeed(isDone) : Effect.interrupt))

  const abort: Conversations["Service"]["abort"] = (id, meant) =>
    Effect.flatMap(headOf(id, meant), (head) => {
      const turnId = head ?? undefined
      return owned(id, found(id, own.abort(id, turnId)), (runner) => runner.Abort({ id, ...defined({ turnId }) }))
    })
  const steer: Conversations["Service"]["steer"] = (steering, origin, meant) => {
    const command = identified(steering)
    const id = command.conversationId
    return Effect.flatMap(headOf(id, meant), (head) => {
      const turnId = head ?? undefined
      return owned(id, found(id, own.steer(command, origin, turnId)), (runner) =>
        runner.Steer({ command, origin, ...defined({ turnId }) })
      )
    }).pipe(
      Effect.retry({ ...PATIENCE, while: (error) => error instanceof Remote.Unattached }),
      Effect.catchTag("Unattached", ({ message }) => Effect.fail(new StorageError({ message })))
    )
  }
  const retry: Conversations["Service"]["retry"] = (id, { isSubmitted, turnId = TurnIds.make() }) => {
    const options = { turnId, ...defined({ isSubmitted }) }
    return owned(id, own.retry(id, options), (runner) => runner.Retry({ id, ...options }))
  }
  const conversationOf = (turnId: Ids.TurnId, within: Ids.ConversationId | undefined) =>
    within === undefined
      ? Effect.flatMap(
          store.turn(turnId),
          Option.match({
            onNone: () => Effect.die(new Error(`turn ${turnId} was never accepted`)),
            onSome: ({ conversationId }) => Effect.succeed(conversationId)
          })
        )
      : Effect.succeed(within)
  const remote = (id: Ids.ConversationId, after: number, turnId?: Ids.TurnId) => {
    // A stream outlives a database that is away, and its first sign waits no longer for a silent one (Owner.O6).
    const place = Effect.catch(Effect.timeout(shardOf(id), LOOK_LIMIT), () => Effect.fail(new Owner.OwnerGone()))
    return Stream.unwrap(
      Effect.map(place, ({ isAttached, shard }) => {
        const frames = Owner.received(at(shard).Watch({ id, after, ...defined({ turnId }) }))
        // A client may come to another runner: it is looked for from time to time.
        return isAttached ? frames : Stream.interruptWhen(frames, Effect.sleep(Frames.SIGN_INTERVAL))
      })
    )
  }

  return Conversations.of({
    create: (options) =>
      own.create({ ...options, conversationId: options.conversationId ?? LocalId.next(shards.isLocal) }),
    messages: own.messages,
    counts: own.counts,
    prompt: (id, { isSubmitted, labels, prompt, turnId = TurnIds.make(), webhook }) => {
      const options = { prompt, turnId, ...defined({ labels, isSubmitted, webhook }) }
      return owned(id, own.prompt(id, options), (runner) => runner.Prompt({ id, ...options }))
    },
    retry,
    abort,
    steer,
    commandAll: (commands, origin) => TurnCommands.each({ abort, retry, steer }, commands, origin),
    endStreams: (id) => owned(id, own.endStreams(id), (runner) => runner.EndStreams({ id })),
    setAutoRetry: (id, enabled) =>
      owned(id, own.setAutoRetry(id, enabled), (runner) => runner.SetAutoRetry({ id, enabled })),
    setModel: (id, model, { ifOther } = {}) =>
      owned(id, own.setModel(id, model, { ifOther }), (runner) =>
        runner.SetModel({ id, model, ...defined({ ifOther }) })
      ),
    setToolAnswers: (id, toolAnswers) =>
      owned(id, own.setToolAnswers(id, toolAnswers), (runner) => runner.SetToolAnswers({ id, toolAnswers })),
    state: (id) => owned(id, own.state(id), (runner) => runner.State({ id })),
    result: (turnId, within) =>
      Effect.flatMap(conversationOf(turnId, within), (id) =>
        owned(id, own.result(turnId, id), (runner) => runner.Result({ id, turnId }), Owner.awaited)
      ),
    watch: (id, after) =>
      Owner.followed(
        after,
        (after) => (isHere(id) ? own.watch(id, after) : remote(id, after)),
        () => false
      ),
    watchTurn: (turnId, within) =>
      Push.unwrap(
        Effect.map(conversationOf(turnId, within), (id) =>
          // A turn's events are sent from its first: events that were received before are left out again.
          Owner.followed(0, () => (isHere(id) ? own.watchTurn(turnId, id) : remote(id, 0, turnId)), Frames.isEnd)
        )
      )
  })
})

// --- internal

interface Tagged {
  readonly _tag: string
}

/** Remote.E1 */
const identified = (steering: Command.Steering): Command.Steering => ({
  ...steering,
  commandId: steering.commandId ?? Ids.CommandId.make(globalThis.crypto.randomUUID())
})

/** A client that goes to another runner is there within a second, and so are the locks of a runner that lost them. */
const PATIENCE = { times: 10, schedule: Schedule.spaced("200 millis") }

/** A lookup that takes longer has no answer. */
const LOOK_LIMIT = "2 seconds"

/** An id in a shard: messages to its owner are for that id. */
const idIn = (shardOf: (id: Ids.ConversationId) => number, shard: number): string => {
  for (let n = 0; ; n++) {
    const id = Ids.ConversationId.make(`shard-${shard}-${n}`)
    if (shardOf(id) === shard) return id
  }
}
