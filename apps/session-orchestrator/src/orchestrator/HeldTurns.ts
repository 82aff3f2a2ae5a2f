/** Brings the turns of held calls into memory and out of it, as their clients come and go (HeldCalls.H1). */
import type { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import { Context, type Effect } from "effect"
import type { Conversations } from "../conversation/Conversations.ts"
import type { HeldWaits } from "./HeldWaits.ts"
import type { Conversation, Unsealed } from "../storage/Store.ts"

/** Opens, releases and resumes the turns of held calls. */
export class HeldTurns extends Context.Service<
  HeldTurns,
  {
    /** The calls to the turns of held calls that this process runs. */
    readonly conversations: Pick<Conversations["Service"], "prompt" | "result" | "abort">
    /** Makes ids until other runners send commands for the conversation to this one. */
    readonly choose: (make: () => Ids.ConversationId) => Ids.ConversationId
    /** The waits of all runners; absent in a process that has its database alone. */
    readonly shared?: HeldWaits | undefined
    /** Adds a conversation as it is. */
    readonly open: (conversation: Conversation) => Effect.Effect<void, StorageError>
    /** Stops the turn of a conversation unsealed, and takes it out of memory: what is on disk continues when it is resumed. */
    readonly release: (id: Ids.ConversationId) => Effect.Effect<void>
    /** Continues a turn from its records: its attempts, the rest of its wait, its budget. Returns whether there was one. */
    readonly resume: (id: Ids.ConversationId) => Effect.Effect<boolean, StorageError>
    /** The turns of held calls that have no seal, in memory or not. */
    readonly unsealed: Effect.Effect<ReadonlyArray<Unsealed>, StorageError>
  }
>()("@holdfast/session-orchestrator/orchestrator/HeldTurns") {}
