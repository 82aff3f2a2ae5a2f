/**
 * Carries out a command for all turns that a filter names (rule X15).
 *
 * BulkCommands.B1. One call is one page of the list, each turn with an outcome of its own: a refusal of one harms no other.
 * BulkCommands.B2. The same call again repeats nothing: a retry has an id that follows from the turn's, and other commands find nothing to do.
 * BulkCommands.B3. Only the newest turn of a conversation is retried: the model would answer another prompt otherwise.
 */
import type { StorageError } from "@holdfast/journal"
import { defined, Ids, type TurnState } from "@holdfast/wire"
import type { BulkCommands as Wire } from "@holdfast/wire/api"
import { Context, Effect, Layer, Option } from "effect"
import { createHash } from "node:crypto"
import { Conversations, InvalidRequest } from "../conversation/Conversations.ts"
import { TurnLists } from "../inspection/TurnLists.ts"
import { TurnStates } from "../inspection/TurnStates.ts"
import { Store } from "../storage/Store.ts"

/** Carries out commands by filter. */
export class BulkCommands extends Context.Service<
  BulkCommands,
  {
    /** @param origin names the client in the record of a command (rule X4) */
    readonly run: (
      request: Wire.RunBulk,
      origin: string
    ) => Effect.Effect<Wire.BulkReport, InvalidRequest | StorageError>
  }
>()("@holdfast/session-orchestrator/http/BulkCommands") {}

/** Turns at once: most pages in one go, so that their reads and their commits are shared. Each has its conversation in memory meanwhile. */
const AT_ONCE = 64

/** Over the conversations, the lists, the states and the store of the service. */
export const layer: Layer.Layer<BulkCommands, never, Conversations | TurnLists | TurnStates | Store> = Layer.effect(
  BulkCommands,
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const lists = yield* TurnLists
    const states = yield* TurnStates
    const store = yield* Store

    const retry = Effect.fnUntraced(function* (turn: Turn): Effect.fn.Return<Outcome, { readonly message: string }> {
      const retriedBy = retryIdOf(turn.turnId)
      const last = Option.getOrUndefined(yield* store.lastTurn(turn.conversationId))
      if (last?.turnId === retriedBy || Option.isSome(yield* store.turn(retriedBy)))
        return { outcome: "idle", retriedBy }
      if (last?.turnId !== turn.turnId) {
        return { outcome: "refused", message: `Turn ${last?.turnId} came after it.` } // BulkCommands.B3
      }
      yield* conversations.retry(turn.conversationId, { turnId: retriedBy, isSubmitted: true })
      return { outcome: "done", retriedBy }
    })

    const carryOut = (
      command: Wire.BulkCommand,
      turn: Turn,
      origin: string
    ): Effect.Effect<Outcome, { readonly message: string }> => {
      const { conversationId, turnId } = turn
      switch (command.type) {
        case "retry":
          return retry(turn)
        case "abort":
          return Effect.map(conversations.abort(conversationId, turnId), outcomeOf)
        default:
          return Effect.map(conversations.steer({ ...command, conversationId }, origin, turnId), outcomeOf)
      }
    }

    /** The command for one turn of the wanted status. */
    const outcomeFor = ({ command, dryRun }: Wire.RunBulk, { conversationId, turnId }: Turn, origin: string) => {
      const ids = { turnId, conversationId }
      if (dryRun === true) return Effect.succeed<Wire.BulkOutcome>({ ...ids, outcome: "listed" })
      return carryOut(command, ids, origin).pipe(
        Effect.match({
          onFailure: ({ message }): Wire.BulkOutcome => ({ ...ids, outcome: "refused", message }),
          onSuccess: (outcome): Wire.BulkOutcome => ({ ...ids, ...outcome })
        })
      )
    }

    /** The same for a turn that was named by its id. A deleted turn is left out. */
    const outcomeOfNamed = (
      request: Wire.RunBulk,
      turnId: Ids.TurnId,
      status: TurnState.TurnState["status"],
      origin: string
    ) =>
      Effect.flatMap(states.find(turnId), (turn) =>
        turn.status === status
          ? outcomeFor(request, turn, origin)
          : Effect.succeed<Wire.BulkOutcome>({ turnId, conversationId: turn.conversationId, outcome: "idle" })
      ).pipe(Effect.catchTag("TurnNotFound", () => Effect.undefined))

    return {
      run: Effect.fn("BulkCommands.run")(function* (request, origin) {
        const {
          command,
          cursor,
          filter: { turnIds, ...filter },
          limit
        } = request
        const status = filter.status ?? (command.type === "retry" ? "failed" : "waiting")
        const refusal = refusalOf(command.type, status)
        if (refusal !== undefined) return yield* new InvalidRequest({ message: refusal })
        if (turnIds !== undefined) {
          const turns = yield* Effect.forEach(
            new Set(turnIds),
            (turnId) => outcomeOfNamed(request, turnId, status, origin),
            { concurrency: AT_ONCE }
          )
          return { turns: turns.filter((turn) => turn !== undefined) }
        }
        const page = yield* lists.turns({ ...filter, status }, { cursor, limit })
        const turns = yield* Effect.forEach(page.turns, (turn) => outcomeFor(request, turn, origin), {
          concurrency: AT_ONCE
        })
        return { turns, ...defined({ next: page.next }) }
      })
    }
  })
)

// --- internal

type Outcome = Omit<Wire.BulkOutcome, "turnId" | "conversationId">

const outcomeOf = (isDone: boolean): Outcome => ({ outcome: isDone ? "done" : "idle" })

interface Turn {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
}

/** BulkCommands.B2 */
const retryIdOf = (turnId: Ids.TurnId): Ids.TurnId =>
  Ids.TurnId.make(`retry-${createHash("sha256").update(turnId).digest("hex").slice(0, 32)}`)

/** A command and a status that never go together. */
const refusalOf = (type: Wire.BulkCommand["type"], status: Wire.BulkFilter["status"]): string | undefined => {
  if (type === "retry") {
    return status === "failed" || status === "aborted"
      ? undefined
      : `filter.status: found "${status}"; expected "failed" or "aborted" for a retry.`
  }
  if (type === "abort") {
    return status === "waiting" || status === "running"
      ? undefined
      : `filter.status: found "${status}"; expected "waiting" or "running" for an abort.`
  }
  return status === "waiting" ? undefined : `filter.status: found "${status}"; expected "waiting" for "${type}".`
}
