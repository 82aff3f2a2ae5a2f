/**
 * Sends commands for a held call to the runner that has its client (rule X13), whatever runner owns its shard.
 *
 * HeldCommands.C1. That runner has claimed the call (`Claims`), and a message reaches it at any shard that it owns.
 * HeldCommands.C2. The client may leave that runner meanwhile, and shards may move: a runner without the client returns the command, and the
 *     claim is read again.
 * HeldCommands.C3. A turn that waits without a client takes no command but an abort, which the owner of its shard carries out on disk. Any
 *     other command is refused, and not answered as if there were nothing to do.
 */
import { StorageError } from "@holdfast/journal"
import type { Command, Ids } from "@holdfast/wire"
import { Data, Effect, Option, Schedule } from "effect"
import { ConversationNotFound, type Conversations } from "../conversation/Conversations.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import type { Store } from "../storage/Store.ts"
import type { HeldRunner } from "./HeldRunner.ts"

/** A command for a held call. */
export type HeldCommand = Command.Steering | Command.Abort

/** The answer of a runner. `elsewhere`: it does not have the client. */
export type HeldOutcome = "done" | "idle" | "elsewhere"

type Outcome<Done> = Effect.Effect<Done, Effect.Error<ReturnType<Conversations["Service"]["steer"]>>>

/** How a command is sent. */
export interface Senders {
  readonly store: Pick<Store["Service"], "turn">
  readonly locate: HeldRunner["Service"]["locate"]
  /** To the runner that owns the shard of an id. */
  readonly toRunner: (at: Ids.ConversationId, command: HeldCommand, origin: string) => Outcome<HeldOutcome>
}

/** A command, and the turn that it is for. */
export interface Sent {
  readonly command: HeldCommand
  readonly origin: string
  /** Absent: whatever turn there is. */
  readonly meant?: Ids.TurnId | undefined
}

/**
 * Sends a command to the runner that has the client; returns whether it had an effect.
 *
 * @param unattached carries it out where no runner has the client
 */
export const send = (
  { locate, store, toRunner }: Senders,
  { command, meant, origin }: Sent,
  unattached: Outcome<boolean> = REFUSED
): Outcome<boolean> =>
  Effect.gen(function* () {
    const { conversationId } = command
    const turnId = HeldCallIds.turnOf(conversationId)
    const turn = Option.getOrUndefined(yield* store.turn(turnId))
    if (turn === undefined) return yield* new ConversationNotFound({ conversationId })
    if (turn.end !== undefined || (meant ?? turnId) !== turnId) return false
    const at = yield* locate(conversationId)
    const outcome = at === undefined ? "elsewhere" : yield* toRunner(at, command, origin)
    return outcome === "elsewhere" ? yield* new Unattached() : outcome === "done"
  }).pipe(
    Effect.retry({ ...PATIENCE, while: ({ _tag }) => _tag === "Unattached" }), // HeldCommands.C2
    Effect.catchTag("Unattached", () => unattached) // HeldCommands.C3
  )

/** Carries out a command at this runner, if it has the client. */
export const carryOut = (
  find: HeldRunner["Service"]["find"],
  command: HeldCommand,
  origin: string
): Outcome<HeldOutcome> =>
  Effect.suspend((): Outcome<HeldOutcome> => {
    const { conversationId } = command
    const held = find(conversationId)
    if (held === undefined) return Effect.succeed("elsewhere")
    const done: Outcome<boolean> = command.type === "abort" ? held.abort(conversationId) : held.steer(command, origin)
    return Effect.map(done, (isDone) => (isDone ? "done" : "idle"))
  })

// --- internal

/** No runner has the client at the moment. */
class Unattached extends Data.TaggedError("Unattached") {}

/** A client that goes to another runner is there within a second, and so are the locks of a runner that lost them. */
const PATIENCE = { times: 10, schedule: Schedule.spaced("200 millis") }

const REFUSED: Outcome<boolean> = Effect.fail(
  new StorageError({
    message:
      "No runner could be found that has the program of this call, so the command was not carried out: the call waits until its program " +
      "asks again. Send the command again then, or abort the call."
  })
)
