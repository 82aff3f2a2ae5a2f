/**
 * Decides who may write a conversation of this runner: its resident, or a command to the turn that waits on disk.
 *
 * WriteClaims.L1. A conversation that comes into memory waits until a command that is being written is on disk, so that it reads what the command
 *     has left.
 * WriteClaims.L2. While a conversation is in memory, or comes into it, no command is written without it.
 */
import type { Ids } from "@holdfast/wire"
import { Deferred, Effect, Exit, type Scope } from "effect"
import * as InScope from "../system/InScope.ts"

/** The claims on the conversations of one runner. */
export class WriteClaims {
  private readonly inMemory = new Map<Ids.ConversationId, number>()
  private readonly steered = new Map<Ids.ConversationId, Deferred.Deferred<void>>()

  /** Claims a conversation for its resident, until the scope closes. A new resident may come while the one before it leaves. */
  enter(id: Ids.ConversationId): Effect.Effect<void, never, Scope.Scope> {
    const entered = InScope.enter(
      () => this.inMemory.set(id, (this.inMemory.get(id) ?? 0) + 1),
      () => {
        const left = (this.inMemory.get(id) ?? 1) - 1
        if (left === 0) this.inMemory.delete(id)
        else this.inMemory.set(id, left)
      }
    )
    return Effect.andThen(
      entered,
      Effect.suspend(() => {
        const steered = this.steered.get(id)
        return steered === undefined ? Effect.void : Deferred.await(steered)
      })
    )
  }

  /** Claims a conversation for a command; `undefined`: it is in memory, or another command has it. */
  steer(id: Ids.ConversationId): { readonly release: () => void } | undefined {
    if (this.inMemory.has(id) || this.steered.has(id)) return undefined
    const written = Deferred.makeUnsafe<void>()
    this.steered.set(id, written)
    return {
      release: () => {
        this.steered.delete(id)
        Deferred.doneUnsafe(written, Exit.void)
      }
    }
  }
}
