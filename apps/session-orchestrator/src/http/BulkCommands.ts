/**
 * Carries out a command for all turns that a filter names (rule X15).
 *
 * BulkCommands.B1. One call is one page of the list, each turn with an outcome of its own: a refusal of one harms no other.
 * BulkCommands.B2. The same call again repeats nothing: a retry has an id that follows from the turn's, and other commands find nothing to do.
 * BulkCommands.B3. Only the newest turn of a conversation is retried: the model would answer another prompt otherwise.
 */
import type { StorageError } from "@holdfast/journal"
import { defined, Ids, type TurnState } from "@holdfast/wire"
import { BulkCommands as Wire } from "@holdfast/wire/api"
import { Context, Effect, Layer, Option } from "effect"
import { createHash } from "node:crypto"
import { Conversations, InvalidRequest } from "../conversation/Conversations.ts"
import * as TurnCommands from "../conversation/TurnCommands.ts"
import { TurnLists } from "../inspection/TurnLists.ts"
import { StoredTurns } from "../inspection/StoredTurns.ts"
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

/** Named turns that are read at once. */
const AT_ONCE = 64

/** Over the conversations, the lists, the states and the store of the service. */
export const layer: Layer.Layer<BulkCommands, never, Conversations | TurnLists | StoredTurns | Store> = Layer.effect(
  BulkCommands,
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const lists = yield* TurnLists
    const states = yield* StoredTurns
    const store = yield* Store

    /** The outcome of a turn that is not retried; `undefined`: it can be. */
    const unretried = Effect.fnUntraced(function* ({
      conversationId,
      turnId
    }: Turn): Effect.fn.Return<Outcome | undefined, StorageError> {
      const retriedBy = retryIdOf(turnId)
      const last = Option.getOrUndefined(yield* store.lastTurn(conversationId))
      if (last?.turnId === turnId) return undefined // The turn of a retry would be newer.
      if (last?.turnId === retriedBy || Option.isSome(yield* store.turn(retriedBy))) return { outcome: "idle" }
      return { outcome: "refused", message: `Turn ${last?.turnId} came after it.` } // BulkCommands.B3
    })

    const retryAll = Effect.fnUntraced(function* (
      turns: ReadonlyArray<Turn>,
      origin: string
    ): Effect.fn.Return<ReadonlyArray<Outcome>> {
      const known = yield* Effect.forEach(
        turns,
        (turn) => Effect.catch(unretried(turn), (error) => Effect.succeed(TurnCommands.refused(error))),
        { concurrency: "unbounded" }
      )
      const retried = turns.filter((_, i) => known[i] === undefined)
      const commands = retried.map(({ conversationId, turnId }): TurnCommands.TurnCommand => ({
        turnId,
        command: { type: "retry", conversationId, turnId: retryIdOf(turnId) }
      }))
      const outcomes = yield* conversations.commandAll(commands, origin)
      const byTurn = new Map(retried.map((turn, i) => [turn, outcomes[i]]))
      return turns.map((turn, i) => {
        const outcome = known[i] ?? byTurn.get(turn) ?? NOTHING
        return outcome.outcome === "refused" ? outcome : { ...outcome, retriedBy: retryIdOf(turn.turnId) }
      })
    })

    const carryOut = (
      { command, dryRun }: Wire.RunBulk,
      turns: ReadonlyArray<Turn>,
      origin: string
    ): Effect.Effect<ReadonlyArray<Outcome>> => {
      if (dryRun === true) return Effect.succeed(turns.map(() => ({ outcome: "listed" })))
      if (command.type === "retry") return retryAll(turns, origin)
      const commands = turns.map(({ conversationId, turnId }) => ({ turnId, command: { ...command, conversationId } }))
      return conversations.commandAll(commands, origin)
    }

    /** Turns with their outcomes: those of another status have nothing to do. */
    const outcomesOf = (
      request: Wire.RunBulk,
      turns: ReadonlyArray<Turn & { readonly status?: Status }>,
      status: Status,
      origin: string
    ): Effect.Effect<ReadonlyArray<Wire.BulkOutcome>> => {
      const wanted = turns.filter((turn) => turn.status === undefined || turn.status === status)
      return Effect.map(carryOut(request, wanted, origin), (outcomes) => {
        const byId = new Map(wanted.map(({ turnId }, i) => [turnId, outcomes[i]]))
        return turns.map(({ conversationId, turnId }) => ({
          turnId,
          conversationId,
          ...(byId.get(turnId) ?? NOTHING)
        }))
      })
    }

    return {
      run: Effect.fn("BulkCommands.run")(function* (request, origin) {
        const {
          command,
          cursor,
          filter: { turnIds, ...filter },
          limit = Wire.DEFAULT_LIMIT
        } = request
        const status = filter.status ?? (command.type === "retry" ? "failed" : "waiting")
        const refusal = refusalOf(command.type, status)
        if (refusal !== undefined) return yield* new InvalidRequest({ message: refusal })
        if (turnIds !== undefined) {
          // A turn that has been deleted is left out.
          const named = yield* Effect.forEach(
            new Set(turnIds),
            (turnId) => Effect.catchTag(states.find(turnId), "TurnNotFound", () => Effect.undefined),
            { concurrency: AT_ONCE }
          )
          const found = named.filter((turn) => turn !== undefined)
          return { turns: yield* outcomesOf(request, found, status, origin) }
        }
        const page = yield* lists.turns({ ...filter, status }, { cursor, limit })
        const turns = page.turns.map(({ conversationId, turnId }) => ({ conversationId, turnId }))
        return { turns: yield* outcomesOf(request, turns, status, origin), ...defined({ next: page.next }) }
      })
    }
  })
)

// --- internal

type Outcome = Omit<Wire.BulkOutcome, "turnId" | "conversationId">
type Status = TurnState.TurnState["status"]

const NOTHING: Outcome = { outcome: "idle" }

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
