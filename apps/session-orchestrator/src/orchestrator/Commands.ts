/**
 * Commands on the turn at the head of a conversation, wherever it is: in memory, or parked (P14, X4).
 *
 * M1. A command is answered when what it did is on disk: the record of the wait that carries it, or the seal of an abort. A
 *     process that dies right after that has forgotten nothing that it said.
 * M2. One that finds nothing to do is answered at once; one that came too late for a wait, when the end of that is on disk.
 * M3. Nobody waits longer than `ANSWER_LIMIT`. Then the disk says why. The command is not withdrawn: the turn heeds it as soon as
 *     it can be recorded, and the same id again is the same command.
 * M4. One that was meant for a turn does nothing to another: sent again, it cannot hit the next.
 */
import { StorageError } from "@holdfast/journal"
import type { RetryStrategy, TurnStopped } from "@holdfast/kernel"
import type { Command, Ids } from "@holdfast/wire"
import { Deferred, Duration, Effect } from "effect"
import type { Store } from "../storage/Store.ts"
import type { InvalidRequest } from "../conversation/Conversations.ts"
import { knownTarget, type Providers } from "../conversation/Providers.ts"
import type { Sessions } from "../session/Sessions.ts"
import type { TurnLife } from "../session/TurnLife.ts"
import type { TurnQueue } from "./TurnQueue.ts"
import { goingDown } from "../turn/TurnRunner.ts"
import type * as Wait from "../pacing/Wait.ts"

/** When a command is answered at the latest. Longer than a database is busy for; shorter than clients wait. */
export const ANSWER_LIMIT = Duration.seconds(10)

/** How long a disk may take to say why, out of that. */
const CHECK_LIMIT = Duration.seconds(2)

export interface Dependencies {
  readonly store: Pick<Store["Service"], "check">
  readonly sessions: Sessions
  readonly queue: Pick<TurnQueue, "parking" | "hasten">
  readonly providers: Providers["Service"]
  /** Succeeds when the service goes down. */
  readonly stopping: Effect.Effect<void>
}

/** Where a command goes. */
export interface Address {
  readonly conversationId: Ids.ConversationId
  /** The turn that it is meant for (M4); otherwise the one that is there. */
  readonly turnId?: Ids.TurnId | undefined
}

type Answer = Effect.Effect<boolean, StorageError | TurnStopped.TurnStopped>

/** Ends the turn; whether there was one. */
export const abort = (dependencies: Dependencies, address: Address): Answer =>
  answered(dependencies, () =>
    reach(dependencies, address, (turn) => {
      turn.abortNow()
      return Effect.as(Deferred.await(turn.ended), true)
    })
  )

/** Steers the wait; whether there was one. */
export const steer = (dependencies: Dependencies, address: Address, command: Wait.Command): Answer =>
  answered(dependencies, () => reach(dependencies, address, ({ wait }) => wait.steer(command)))

/** A command as the wait takes it. One without an id gets one. */
export const decode = (
  steering: Command.Steering,
  origin: string,
  providers: Providers["Service"]
): Effect.Effect<Wait.Command, InvalidRequest> => {
  const by: RetryStrategy.Command = { commandId: steering.commandId ?? globalThis.crypto.randomUUID(), origin }
  switch (steering.type) {
    case "retry-now":
      return Effect.succeed({ type: "now", by })
    case "abort-retry":
      return Effect.succeed({ type: "cancelled", by })
    case "wait-until":
      return Effect.succeed({ type: "until", until: steering.until, by })
    case "extend-budget":
      return Effect.succeed({ type: "extended", byMs: steering.byMs, by })
    case "switch-target":
      return Effect.map(knownTarget(steering.model, providers), (target) => ({ type: "switched", target, by }))
    default:
      return steering satisfies never
  }
}

// --- internal

/** Does something to the turn, there and then; a parked one is taken up for it. `undefined` where there is none. */
const reach = (
  { queue, sessions }: Dependencies,
  { conversationId, turnId }: Address,
  act: (turn: TurnLife) => Wait.Answer
): Wait.Answer | undefined => {
  const isMeant = (turn: { readonly turnId: Ids.TurnId }) => turnId === undefined || turn.turnId === turnId // M4
  const parked = queue.parking.find(conversationId)
  if (parked === undefined) {
    const session = sessions.find(conversationId)
    const head = session?.head
    if (session === undefined || head === undefined || !isMeant(head)) return undefined
    const answer = act(head)
    queue.hasten(session)
    return answer
  }
  let answer: Wait.Answer | undefined
  if (isMeant(parked)) queue.parking.leave(conversationId, (turn) => void (answer = act(turn)))
  return answer
}

const answered = ({ stopping, store }: Dependencies, hand: () => Wait.Answer | undefined): Answer =>
  Effect.suspend((): Answer => {
    const answer = hand() ?? Effect.succeed(false) // M2
    // First, as a turn that was let go of has nothing to do any more, and that is not what the command should hear.
    return Effect.andThen(stopping, Effect.fail(goingDown)).pipe(
      Effect.raceFirst(answer),
      Effect.raceFirst(tooLate(store))
    )
  })

/** M3. The disk is asked ahead of the limit, so that the answer comes at it. */
const tooLate = (store: Dependencies["store"]): Effect.Effect<never, StorageError> =>
  Effect.all([Effect.delay(whyNot(store), Duration.subtract(ANSWER_LIMIT, CHECK_LIMIT)), Effect.sleep(ANSWER_LIMIT)], {
    concurrency: "unbounded"
  }).pipe(Effect.flatMap(([error]) => Effect.fail(error)))

/** M3 */
const whyNot = (store: Dependencies["store"]): Effect.Effect<StorageError> =>
  store.check.pipe(
    Effect.as("The database answers again."),
    Effect.catchTag("StorageError", ({ message }) => Effect.succeed(message)),
    Effect.timeoutOrElse({ duration: CHECK_LIMIT, orElse: () => Effect.succeed("The database does not answer.") }),
    Effect.map(
      (why) =>
        new StorageError({
          message:
            `The command is not on disk after ${Duration.format(ANSWER_LIMIT)}. ${why} It is not withdrawn: the turn heeds it ` +
            "as soon as it can be recorded, unless the service stops before. Send it again, with the same commandId, to be sure."
        })
    )
  )
