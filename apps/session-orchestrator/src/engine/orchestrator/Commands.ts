/**
 * Delivers commands to a conversation's head turn, in memory or parked, and aborts to queued turns (rules P14, X4).
 *
 * Commands.M2. A command with nothing to do is answered at once. A command that came too late for a wait is answered when the end of that
 *     wait is on disk.
 * Commands.M3. No client waits longer than `ANSWER_LIMIT`. Then the answer is an error with the state of the disk. A command that its turn has
 *     is not withdrawn: it takes effect once it can be recorded, and the same id again is the same command.
 * Commands.M4. A command for one turn does nothing to another. A command that names no turn is for the first turn of the conversation. Sent
 *     again, it is answered as done and reaches no turn, if a turn has it on record.
 *
 * A command is answered when its effect is on disk: the record of the wait that carries it, or the seal of an abort. A process that dies right
 * after that has lost nothing that it promised.
 */
import { StorageError } from "@holdfast/journal"
import type { RetryStrategy, TurnStopped } from "@holdfast/kernel"
import { Backoff } from "@holdfast/policy"
import { type Command, defined, type Ids } from "@holdfast/wire"
import { Clock, Deferred, Duration, Effect } from "effect"
import { InvalidRequest } from "../conversation/Conversations.ts"
import { knownTarget, type Providers } from "../conversation/Providers.ts"
import type { TurnLife } from "../session/TurnLife.ts"
import { shuttingDown } from "../turn/TurnServices.ts"
import type * as TurnWait from "../pacing/TurnWait.ts"
import type { Parts } from "./Parts.ts"

/** Longest time until a command is answered. Longer than a database is busy for; shorter than clients wait. */
export const ANSWER_LIMIT = Duration.seconds(10)

/** The part of it in which the state of the disk is read. */
const CHECK_LIMIT = Duration.seconds(2)

/** The conversation, and optionally the turn, that a command is for. */
export interface Address {
  readonly conversationId: Ids.ConversationId
  /** The turn that the command is for (Commands.M4); if absent, the turn at the head. */
  readonly turnId?: Ids.TurnId | undefined
}

type CommandResult = Effect.Effect<boolean, StorageError | TurnStopped.TurnStopped>

/** Aborts the turn, which may be queued if it is named; returns whether there was one. */
export const abort = (parts: Parts, address: Address): CommandResult =>
  inTime(parts, () => {
    const { conversationId, turnId } = address
    const queued = turnId === undefined ? undefined : parts.queue.abortQueued(conversationId, turnId)
    return (
      queued ??
      reach(parts, address, (turn) => {
        turn.abortNow()
        return Effect.as(Deferred.await(turn.ended), true)
      })
    )
  })

/** Hands a command to the turn's wait; returns whether it had an effect. `isNew`: its id cannot have been sent before. */
export const steer = (
  parts: Parts,
  { conversationId, turnId }: Address,
  command: TurnWait.Command,
  isNew = false
): CommandResult => {
  let isHanded = false
  const handed = () => {
    const meant = turnId ?? headOf(parts, conversationId)
    const hand = () => {
      isHanded = true
      return reach(parts, { conversationId, turnId: meant }, ({ wait }) => wait.steer(command))
    }
    if (isNew) return hand()
    const isTaken = parts.store.hasCommand(conversationId, command.by.commandId)
    const steered = Effect.suspend(() => hand() ?? NOTHING)
    // Of a turn that is named, its wait knows the commands: the disk is asked when that has nothing to do.
    return turnId === undefined
      ? Effect.flatMap(isTaken, (isTaken) => (isTaken ? Effect.succeed(true) : steered))
      : Effect.flatMap(steered, (isDone) => (isDone ? Effect.succeed(true) : isTaken))
  }
  return inTime(parts, handed, () => isHanded)
}

/** The turn that a command without a turn is for. */
export const headOf = ({ queue, sessions }: Parts, id: Ids.ConversationId): Ids.TurnId | undefined =>
  queue.parking.find(id)?.turnId ?? sessions.find(id)?.head?.turnId

/** Converts a client's command into the wait's command. A command without an id gets one. */
export const decode = (
  steering: Command.Steering,
  origin: string,
  providers: Providers["Service"]
): Effect.Effect<TurnWait.Command, InvalidRequest> => {
  const by: RetryStrategy.Command = { commandId: steering.commandId ?? globalThis.crypto.randomUUID(), origin }
  switch (steering.type) {
    case "retry-now":
      return Effect.succeed({ type: "now", by })
    case "abort-retry":
      return Effect.succeed({ type: "cancelled", by })
    case "wait-until":
      return Effect.flatMap(Clock.currentTimeMillis, (now) =>
        steering.until <= now + Backoff.LONGEST_MS
          ? Effect.succeed({ type: "until", until: steering.until, by })
          : new InvalidRequest({ message: "until: expected a moment within 365 days from now." })
      )
    case "extend-budget":
      return Effect.succeed({ type: "extended", byMs: steering.byMs, by })
    case "answer-tool": {
      const { approve: approved, reason, toolCallId } = steering
      return Effect.succeed({ type: "answered", toolCallId, approved, ...defined({ reason }), by })
    }
    case "switch-target":
      return Effect.map(knownTarget(steering.model, providers), (target) => ({ type: "switched", target, by }))
    default:
      return steering satisfies never
  }
}

// --- internal

/** Applies `act` to the turn synchronously; a parked turn is taken up for it. `undefined` if there is no such turn. */
const reach = (
  { queue, sessions }: Parts,
  { conversationId, turnId }: Address,
  act: (turn: TurnLife) => TurnWait.CommandResult
): TurnWait.CommandResult | undefined => {
  const isMeant = (turn: { readonly turnId: Ids.TurnId }) => turnId === undefined || turn.turnId === turnId // Commands.M4
  const parked = queue.parking.find(conversationId)
  if (parked === undefined) {
    const session = sessions.find(conversationId)
    const head = session?.head
    if (session === undefined || head === undefined || !isMeant(head)) return undefined
    const answer = act(head)
    queue.begin(session)
    return answer
  }
  let answer: TurnWait.CommandResult | undefined
  if (isMeant(parked)) queue.parking.leave(conversationId, (turn) => void (answer = act(turn)))
  return answer
}

/** Commands.M2 */
const NOTHING = Effect.succeed(false)

const inTime = (
  { stopping, store }: Parts,
  hand: () => CommandResult | undefined,
  /** Whether its turn has the command. */
  isHanded = () => true
): CommandResult =>
  Effect.suspend((): CommandResult => {
    const answer = hand() ?? NOTHING
    // Shutdown comes first: a released turn answers that there was nothing to do, and the client needs the real reason.
    return Effect.andThen(stopping, Effect.fail(shuttingDown)).pipe(
      Effect.raceFirst(answer),
      Effect.raceFirst(timeLimit(store, isHanded))
    )
  })

/** Commands.M3. The disk is asked ahead of the limit, so that the answer arrives at the limit. */
const timeLimit = (store: Parts["store"], isHanded: () => boolean): Effect.Effect<never, StorageError> =>
  Effect.delay(diskError(store, isHanded), Duration.subtract(ANSWER_LIMIT, CHECK_LIMIT)).pipe(
    Effect.zip(Effect.sleep(ANSWER_LIMIT), { concurrent: true }),
    Effect.flatMap(([error]) => Effect.fail(error))
  )

/** Commands.M3 */
const diskError = (store: Parts["store"], isHanded: () => boolean): Effect.Effect<StorageError> =>
  store.check.pipe(
    Effect.as("The database answers again."),
    Effect.catchTag("StorageError", ({ message }) => Effect.succeed(message)),
    Effect.timeoutOrElse({ duration: CHECK_LIMIT, orElse: () => Effect.succeed("The database does not answer.") }),
    Effect.map(
      (why) =>
        new StorageError({
          message:
            `The command is not on disk after ${Duration.format(ANSWER_LIMIT)}. ${why} ` +
            (isHanded()
              ? "It is not withdrawn: it takes effect once the disk works again, unless the process stops first. Send it again, with the same " +
                "commandId, to be sure."
              : "It was not carried out. Send it again, with the same commandId.")
        })
    )
  )
