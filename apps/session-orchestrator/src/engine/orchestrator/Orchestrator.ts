/**
 * Implements `Conversations`, the port that transports call, over the turns of this process.
 *
 * Turns that the last process did not seal are taken up at the start, oldest first (`Acceptance.takeUp`). Calls about a conversation wait
 * until that is done.
 */
import type { StorageError } from "@holdfast/journal"
import { Push } from "@holdfast/kernel/host"
import type { Ids } from "@holdfast/wire"
import { Context, Duration, Effect, Layer, Schedule, Stream } from "effect"
import { ConversationNotFound, Conversations } from "../conversation/Conversations.ts"
import type { Sessions } from "../session/Session.ts"
import * as Watching from "../session/Watching.ts"
import * as TurnServices from "../turn/TurnServices.ts"
import type { Condition } from "../../base/system/Condition.ts"
import * as Acceptance from "./Acceptance.ts"
import * as Commands from "./Commands.ts"
import * as ConversationChanges from "./ConversationChanges.ts"
import * as ConversationViews from "./ConversationViews.ts"
import * as TurnOutcomes from "./TurnOutcomes.ts"
import { HeldTurns, of as heldTurnsOf } from "./HeldTurns.ts"
import * as NewConversation from "./NewConversation.ts"
import { collect, type Parts } from "./Parts.ts"
import type * as TurnQueue from "./TurnQueue.ts"

/** Runs turns while its scope is open. Turns that it does not seal are left for the next process. */
export const layer = Layer.effectContext(Effect.suspend(() => asContext))

/** The part of an orchestrator that a runner calls: it takes turns up and gives them up as conversations come and go. */
export interface Charge {
  /** Takes up the unsealed turns of some conversations, none of which is in memory. */
  readonly takeUp: (isMeant: (id: Ids.ConversationId) => boolean) => Effect.Effect<Acceptance.TakenUp, StorageError>
  readonly giveUp: TurnQueue.TurnQueue["giveUp"]
  /** The turn that a command would be for. */
  readonly headOf: (id: Ids.ConversationId) => Ids.TurnId | undefined
}

/** Runs turns while its scope is open. */
export const make = Effect.fnUntraced(function* ({ takesUp }: { readonly takesUp: boolean }) {
  const parts = yield* collect
  const { condition, queue } = parts
  condition.setSettling(() => queue.settle())
  if (takesUp) yield* Effect.forkScoped(takeUp(parts, condition), { startImmediately: true })
  const own = conversations(parts)
  const charge: Charge = {
    takeUp: (isMeant) => Acceptance.takeUp(parts, isMeant),
    giveUp: (isMeant) => queue.giveUp(isMeant),
    headOf: (id) => Commands.headOf(parts, id)
  }
  return { conversations: own, heldTurns: heldTurnsOf(parts, own), charge }
})

/**
 * Takes up the turns that the last process did not seal; ends when all are taken up.
 *
 * A database that cannot be read is asked again every `INTERVAL`; until then the service reports that it is not ready, and why.
 */
export const takeUp = (acceptance: Parts, condition: Condition["Service"]): Effect.Effect<void> =>
  Effect.andThen(
    condition.setStarting("The turns that the last process left unfinished are being taken up."),
    Effect.timed(Acceptance.takeUp(acceptance))
  ).pipe(
    Effect.tap(([duration, taken]) => loggedStart(acceptance, taken, duration)),
    Effect.tapError(({ message }) =>
      Effect.andThen(
        condition.setStarting(`The turns that the last process left unfinished could not be taken up yet: ${message}`),
        Effect.logError(`Unfinished turns could not be taken up. ${message}`)
      )
    ),
    Effect.retry(Schedule.spaced(INTERVAL)),
    Effect.orDie,
    Effect.andThen(condition.setStarting(undefined))
  )

// --- internal

/** Time between two tries to read the turns of the last process. */
const INTERVAL = "5 seconds"

const loggedStart = (
  { tenancy: { predecessor } }: Parts,
  { turns, waiting }: Acceptance.TakenUp,
  duration: Duration.Duration
): Effect.Effect<void> =>
  turns === 0
    ? Effect.void
    : Effect.logInfo(
        `Took up ${turns} unfinished turn(s) in ${Math.round(Duration.toMillis(duration))} ms, from ` +
          `${predecessor === undefined ? "the last process" : `${predecessor}, which died`}; ` +
          `${waiting} of them ${waiting === 1 ? "waits for its" : "wait for their"} time.`
      )

const asContext = Effect.map(make({ takesUp: true }), ({ conversations, heldTurns }) =>
  Context.make(Conversations, conversations).pipe(Context.add(HeldTurns, heldTurns))
)

const conversations = (parts: Parts): Conversations["Service"] => {
  const { condition, defaults, find, log, ownership, providers, sessions, store, tools } = parts
  const steering: Conversations["Service"]["steer"] = (steering, origin, turnId) =>
    Effect.gen(function* () {
      const { conversationId } = steering
      const address = { conversationId, turnId }
      const command = yield* Commands.decode(steering, origin, providers)
      const conversation = yield* find(conversationId)
      if (command.type === "answered" && steering.type === "answer-tool" && steering.always === true)
        yield* ConversationChanges.answerAlways(parts, conversation, address, command)
      return yield* Commands.steer(parts, address, command, steering.commandId === undefined)
    })
  return {
    create: (options) =>
      Effect.gen(function* () {
        const conversation = yield* NewConversation.make(options, { defaults, providers, toolServers: tools.names })
        yield* store.createConversation(conversation)
        return conversation.conversationId
      }),
    prompt: (id, options) => Acceptance.prompt(parts, id, options),
    retry: (id, options) => Acceptance.retry(parts, id, options),
    result: (turnId, within) => Effect.andThen(condition.started, TurnOutcomes.resultOf(parts, turnId, within)),
    watchTurn: (turnId, within) => watchTurn(parts, turnId, within).pipe(Push.unwrap, Watching.ofTurn(turnId)),
    watch: (id, after) =>
      Push.unwrap(
        Effect.gen(function* () {
          const session = yield* ConversationViews.watched(parts, yield* find(id))
          const ended = () => (ownership.isOurs(id) ? undefined : TurnServices.shuttingDown)
          return Watching.watch(session, (from) => log.events(id, from), { after, ended })
        })
      ),
    endStreams: (id) => Effect.sync(() => endStreams(sessions, id)),
    abort: (conversationId, turnId) => abort(parts, { conversationId, turnId }),
    steer: steering,
    change: (...given) => ConversationChanges.perform(parts, ...given),
    counts: Effect.sync(() => ConversationViews.countsOf(parts)),
    state: (id) => Effect.flatMap(find(id), (conversation) => ConversationViews.stateOf(parts, conversation)),
    messages: (id) => Effect.andThen(find(id), log.history(id))
  }
}

const watchTurn = Effect.fnUntraced(function* (
  parts: Parts,
  turnId: Ids.TurnId,
  within: Ids.ConversationId | undefined
) {
  const { condition, find } = parts
  yield* condition.started
  const conversationId = within ?? (yield* TurnOutcomes.turnOf(parts, turnId)).conversationId
  const session = yield* ConversationViews.watched(parts, yield* find(conversationId))
  const events = TurnOutcomes.eventsOf(parts, { conversationId, turnId })
  return Watching.watch(session, () => Stream.fromIterableEffect(events), { turnId })
})

const endStreams = (sessions: Sessions, conversationId: Ids.ConversationId): void => {
  const session = sessions.find(conversationId)
  if (session === undefined) return
  session.conversation = undefined // from here on calls look on the disk
  session.hub.ended(new ConversationNotFound({ conversationId }))
}

/** Rule P14: cancelling the retry is part of aborting; the kernel closes the chain before the seal. */
const abort = Effect.fnUntraced(function* (parts: Parts, address: Commands.Address) {
  const { find, queue } = parts
  yield* find(address.conversationId)
  if (yield* Commands.abort(parts, address)) return true
  // An unsealed turn that is not in memory is ended too, even if it was released.
  queue.readmit(address.conversationId)
  yield* Acceptance.recover(parts, address.conversationId, address.turnId)
  // Its client or another abort may have brought it into memory meanwhile.
  return yield* Commands.abort(parts, address)
})
