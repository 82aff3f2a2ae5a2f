/** Brings the turns of held calls into memory and out of it, as their clients come and go. */
import type { Observer } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import type { Ids } from "@holdfast/wire"
import { Context, Effect, Option } from "effect"
import * as HeldCallIds from "../../storage/HeldCallIds.ts"
import type { Conversation, Turn } from "../../storage/Stored.ts"
import type { Conversations } from "../conversation/Conversations.ts"
import * as Acceptance from "./Acceptance.ts"
import type { HeldWaits } from "./HeldWaits.ts"
import type { Parts } from "./Parts.ts"
import * as TurnOutcomes from "./TurnOutcomes.ts"

/** Begins, accepts, releases and resumes the turns of held calls. */
export class HeldTurns extends Context.Service<
  HeldTurns,
  ReturnType<typeof of> & {
    /** The waits of all runners; absent in a process that has its database alone. */
    readonly shared?: HeldWaits | undefined
  }
>()("@holdfast/session-orchestrator/orchestrator/HeldTurns") {}

/** The turns of held calls of an orchestrator. */
export const of = (parts: Parts, { abort }: Pick<Conversations["Service"], "abort">) => {
  const { condition, log, queue, sessions, store } = parts
  const result: Conversations["Service"]["result"] = (turnId, within) => TurnOutcomes.resultOf(parts, turnId, within)
  return {
    /** The calls to the turns of held calls that this process runs. They have been accepted or resumed: the start has nothing of them. */
    conversations: { abort, result },
    /** Makes ids until other runners send commands for the conversation to this one. */
    choose: (make: () => Ids.ConversationId): Ids.ConversationId => make(),
    /**
     * Runs a turn that is not on disk, in a conversation that is none either, until it ends or is to be accepted. `sealed` is called when it ends so.
     * Interruption aborts it.
     */
    begin: (conversation: Conversation, turn: Turn, sealed: (sealed: Observer.Sealed) => void) =>
      queue.draft(
        sessions.wake(conversation.conversationId),
        { conversation, turn, history: [], persisted: OPENING },
        sealed
      ),
    /** Accepts that turn, in a conversation that is added as it is. The turn goes on when this succeeds. */
    accept: (conversation: Conversation, draft: Parameters<typeof Acceptance.acceptDraft>[2]) =>
      Acceptance.acceptDraft(parts, conversation, draft),
    /** The last attempt of a turn. */
    lastAttempt: (id: Ids.TurnId) => Effect.map(log.load(id), (records) => History.of(records).attempts.at(-1)),
    /** Stops the turn of a conversation unsealed, and takes it out of memory: what is on disk continues when it is resumed. */
    release: (id: Ids.ConversationId) => queue.release(id),
    /** Continues a turn from its records: its attempts, the rest of its wait, its budget. Returns whether it is on disk. */
    resume: (id: Ids.ConversationId) =>
      Effect.andThen(
        condition.started,
        Effect.suspend(() => {
          queue.readmit(id)
          const isEnded = Effect.map(store.turn(HeldCallIds.turnOf(id)), Option.isSome)
          return Effect.flatMap(Acceptance.recover(parts, id), (isThere) => (isThere ? Effect.succeed(true) : isEnded))
        })
      ),
    /** The turns of held calls that have no seal, in memory or not. */
    unsealed: log.tail(HeldCallIds.isHeld)
  }
}

// --- internal

/** The types of the first events of a turn with a prompt, which are on disk when it has been accepted. */
const OPENING = ["turn-start", "message"] as const
