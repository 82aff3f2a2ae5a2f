/** Brings the turns of held calls into memory and out of it, as their clients come and go. */
import type { StorageError } from "@holdfast/journal"
import type { Observer, TurnStopped } from "@holdfast/kernel"
import type { History } from "@holdfast/kernel/host"
import type { Ids } from "@holdfast/wire"
import { Context, type Effect } from "effect"
import type { Conversations, ShuttingDown } from "../conversation/Conversations.ts"
import type { HeldWaits } from "./HeldWaits.ts"
import type { Conversation, Turn, Unsealed } from "../../storage/Stored.ts"
import type { Drafted } from "./TurnQueue.ts"

/** Begins, accepts, releases and resumes the turns of held calls. */
export class HeldTurns extends Context.Service<
  HeldTurns,
  {
    /** The calls to the turns of held calls that this process runs. */
    readonly conversations: Pick<Conversations["Service"], "result" | "abort">
    /** Makes ids until other runners send commands for the conversation to this one. */
    readonly choose: (make: () => Ids.ConversationId) => Ids.ConversationId
    /** The waits of all runners; absent in a process that has its database alone. */
    readonly shared?: HeldWaits | undefined
    /** Runs a turn that is not on disk, in a conversation that is none either, until it ends or is to be accepted. Interruption aborts it. */
    readonly begin: (
      conversation: Conversation,
      turn: Turn,
      /** Called when it ends so. */
      sealed: (sealed: Observer.Sealed) => void
    ) => Effect.Effect<Drafted, TurnStopped.TurnStopped>
    /** Accepts that turn, in a conversation that is added as it is. The turn goes on when this succeeds. */
    readonly accept: (
      conversation: Conversation,
      draft: Extract<Drafted, { readonly _tag: "Failed" }>
    ) => Effect.Effect<void, StorageError | ShuttingDown>
    /** The last attempt of a turn. */
    readonly lastAttempt: (id: Ids.TurnId) => Effect.Effect<History.Attempt | undefined, StorageError>
    /** Stops the turn of a conversation unsealed, and takes it out of memory: what is on disk continues when it is resumed. */
    readonly release: (id: Ids.ConversationId) => Effect.Effect<void>
    /** Continues a turn from its records: its attempts, the rest of its wait, its budget. Returns whether it is on disk. */
    readonly resume: (id: Ids.ConversationId) => Effect.Effect<boolean, StorageError>
    /** The turns of held calls that have no seal, in memory or not. */
    readonly unsealed: Effect.Effect<ReadonlyArray<Unsealed>, StorageError>
  }
>()("@holdfast/session-orchestrator/orchestrator/HeldTurns") {}
