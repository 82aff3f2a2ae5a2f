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
import { ConversationNotFound, Conversations } from "../engine/conversation/Conversations.ts"
import * as TurnOutcomes from "../engine/orchestrator/TurnOutcomes.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import type { Store } from "../storage/Store.ts"
import * as NewId from "../storage/NewId.ts"
import * as Claims from "./Claims.ts"
import * as Frames from "./Frames.ts"
import * as LocalId from "./LocalId.ts"
import * as Owner from "./Owner.ts"
import * as Remote from "./Remote.ts"

/** What the routes are made from. */
interface Dependencies extends Remote.Dependencies {
  readonly store: Store["Service"]
  /** Names the database in errors. */
  readonly database: string
}

/** The conversations of all runners. */
export const make = Effect.fnUntraced(function* (dependencies: Dependencies) {
  const { calls, database, own, shards, store } = dependencies
  const sql = yield* SqlClient.SqlClient
  const client = yield* Remote.Remote.client
  const reached = Owner.reached(store.check)
  const here = Remote.answersOf(dependencies)
  /** Whether this runner has a conversation at this moment: the client of its held call, or its shard. */
  const isHere = (id: Ids.ConversationId) => (HeldCallIds.isHeld(id) ? calls.has(id) : shards.isReady(id))
  const at = (shard: number) => client(shards.ids.get(shard) ?? "")
  /** The shard whose owner has a conversation; a held call without a client is looked after by the owner of its own. */
  const shardOf = (id: Ids.ConversationId) =>
    HeldCallIds.isHeld(id)
      ? Effect.map(
          Effect.mapError(Claims.shardsOfHolder(sql, id), (error) =>
            StorageFailure.explain(database, "find the runner of a held call", error)
          ),
          ([shard]) => ({ shard: shard ?? shards.of(id), isAttached: shard !== undefined })
        )
      : Effect.succeed({ shard: shards.of(id), isAttached: true })
  /** Router.C1 */
  const owned = <A, E extends Owner.Tagged>(
    id: Ids.ConversationId,
    ask: (owner: Remote.Answers<Owner.Unreached>) => Effect.Effect<A, E | Owner.Unreached>,
    /** Instead, for a held call without a client. */
    unattached?: Effect.Effect<A, E | StorageError>
  ) => {
    type Answer = Effect.Effect<A, E | StorageError | Owner.Unreached>
    const there = Effect.flatMap(shardOf(id), ({ isAttached, shard }): Answer =>
      isAttached || unattached === undefined ? ask(at(shard)) : unattached
    )
    return reached<A, E | StorageError>(
      Effect.suspend((): Answer => (isHere(id) ? ask(here) : there)),
      () => isHere(id)
    )
  }
  /** The turn that a command is for (Remote.E1). */
  const headOf = (id: Ids.ConversationId, meant: Ids.TurnId | undefined) =>
    meant === undefined && !HeldCallIds.isHeld(id)
      ? Effect.map(
          owned(id, (owner) => owner.Head({ id })),
          (turnId) => defined({ turnId: turnId ?? undefined })
        )
      : Effect.succeed(defined({ turnId: meant }))

  const steer: Conversations["Service"]["steer"] = (steering, origin, meant) => {
    const command = identified(steering)
    const id = command.conversationId
    return Effect.gen(function* () {
      const head = yield* headOf(id, meant)
      // Read after the head: an earlier turn has ended by then, with its commands on disk.
      if (meant === undefined && (yield* store.hasCommand(id, command.commandId))) return true
      return yield* owned(id, (owner) => owner.Steer({ command, origin, ...head }), unattached(store, id, meant))
    }).pipe(Effect.retry({ ...PATIENCE, while: (error) => error === UNATTACHED }))
  }
  const conversationOf = (turnId: Ids.TurnId, within: Ids.ConversationId | undefined) =>
    within === undefined
      ? Effect.map(TurnOutcomes.turnOf({ store }, turnId), ({ conversationId }) => conversationId)
      : Effect.succeed(within)
  const remote = (payload: { readonly id: Ids.ConversationId; readonly after: number } & OfTurn) => {
    // A stream outlives a database that is away, and its first sign waits no longer for a silent one (Owner.O6).
    const place = Effect.catch(Effect.timeout(shardOf(payload.id), LOOK_LIMIT), () =>
      Effect.fail(new Owner.OwnerGone())
    )
    return Stream.unwrap(
      Effect.map(place, ({ isAttached, shard }) => {
        const frames = Owner.received(at(shard).Watch(payload))
        // A client may come to another runner: it is looked for from time to time.
        return isAttached ? frames : Stream.interruptWhen(frames, Effect.sleep(Frames.SIGN_INTERVAL))
      })
    )
  }
  /** A turn's events are sent from its first: events that were received before are left out again. */
  const watchTurn = (id: Ids.ConversationId, ofTurn: OfTurn & { readonly turnId: Ids.TurnId }) =>
    Owner.followed(
      0,
      () => (isHere(id) ? own.watchTurn(ofTurn.turnId, id) : remote({ id, after: 0, ...ofTurn })),
      Frames.isEnd
    )
  /** A turn that has ended has its result on disk. */
  const resultOf = (id: Ids.ConversationId, turnId: Ids.TurnId) =>
    Effect.andThen(
      Effect.mapError(Stream.runDrain(watchTurn(id, { turnId, isEnd: true })), (error) =>
        error._tag === "TurnStopped" ? error : new StorageError({ message: error.message })
      ),
      own.result(turnId)
    )

  return Conversations.of({
    create: ({ conversationId = LocalId.drawn(NewId.conversation, shards.isLocal), ...options }) =>
      own.create({ ...options, conversationId }),
    messages: own.messages,
    counts: own.counts,
    prompt: (id, { isSubmitted, labels, prompt, turnId = NewId.turn(), webhook }) =>
      owned(id, (owner) => owner.Prompt({ id, prompt, turnId, ...defined({ labels, isSubmitted, webhook }) })),
    retry: (id, { isSubmitted, turnId = NewId.turn() }) =>
      owned(id, (owner) => owner.Retry({ id, turnId, ...defined({ isSubmitted }) })),
    abort: (id, meant) =>
      Effect.flatMap(headOf(id, meant), (head) => owned(id, (owner) => owner.Abort({ id, ...head }))),
    steer,
    endStreams: (id) => owned(id, (owner) => owner.EndStreams({ id })),
    change: (command, { ifOther } = {}) =>
      owned(command.conversationId, (owner) => owner.Change({ command, ...defined({ ifOther }) })),
    state: (id) => owned(id, (owner) => owner.State({ id })),
    result: (turnId, within) =>
      Effect.flatMap(conversationOf(turnId, within), (id) =>
        isHere(id)
          ? Effect.catchCauseIf(own.result(turnId, id), Owner.isGoing, () => resultOf(id, turnId))
          : resultOf(id, turnId)
      ),
    watch: (id, after) =>
      Owner.followed(
        after,
        (after) => (isHere(id) ? own.watch(id, after) : remote({ id, after })),
        () => false
      ),
    watchTurn: (turnId, within) =>
      Push.unwrap(Effect.map(conversationOf(turnId, within), (id) => watchTurn(id, { turnId })))
  })
})

// --- internal

/** A turn that is watched: all its events, or its end alone. */
interface OfTurn {
  readonly turnId?: Ids.TurnId
  readonly isEnd?: boolean
}

/** Remote.E1 */
const identified = (steering: Command.Steering): Command.Steering & { readonly commandId: Ids.CommandId } => ({
  ...steering,
  commandId: steering.commandId ?? Ids.CommandId.make(globalThis.crypto.randomUUID())
})

/** No runner has the client of a held call, and its turn takes no command but an abort. */
const UNATTACHED = new StorageError({
  message:
    "No runner could be found that has the program of this call, so the command was not carried out: the call waits until its program " +
    "asks again. Send the command again then, or abort the call."
})

/** A client that goes to another runner is there within a second, and so are the locks of a runner that lost them. */
const PATIENCE = { times: 10, schedule: Schedule.spaced("200 millis") }

/** A command for a held call without a client: there is nothing to do for it once its turn has ended. */
const unattached = Effect.fnUntraced(function* (
  store: Pick<Store["Service"], "turn">,
  conversationId: Ids.ConversationId,
  meant: Ids.TurnId | undefined
) {
  const turnId = HeldCallIds.turnOf(conversationId)
  const turn = Option.getOrUndefined(yield* store.turn(turnId))
  if (turn === undefined) return yield* new ConversationNotFound({ conversationId })
  if (turn.end === undefined && (meant ?? turnId) === turnId) return yield* UNATTACHED
  return false
})

/** A lookup that takes longer has no answer. */
const LOOK_LIMIT = "2 seconds"
