/**
 * Carries out a command for all turns that a filter names (rule X15).
 *
 * - One call is one page of the list, each turn with an outcome of its own: a refusal of one harms no other.
 * - The same call again repeats nothing: a retry has an id that follows from the turn's, and other commands find nothing to do.
 * - Only the newest turn of a conversation is retried: the model would answer another prompt otherwise.
 */
import type { StorageError } from "@holdfast/journal"
import { defined, Ids, type TurnState } from "@holdfast/wire"
import { BulkCommands as Wire } from "@holdfast/wire/api"
import { Context, Effect, Layer, Option } from "effect"
import { createHash } from "node:crypto"
import { Conversations, InvalidRequest } from "../engine/conversation/Conversations.ts"
import { TurnLists } from "../insight/inspection/TurnLists.ts"
import { StoredTurns } from "../insight/inspection/StoredTurns.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import { Store } from "../storage/Store.ts"

/** Carries out commands by filter. */
export class BulkRun extends Context.Service<
  BulkRun,
  {
    /** @param origin names the client in the record of a command (rule X4) */
    readonly run: (
      request: Wire.RunBulk,
      origin: string
    ) => Effect.Effect<Wire.BulkReport, InvalidRequest | StorageError>
  }
>()("@holdfast/session-orchestrator/http/BulkRun") {}

/** Turns that are read, or commanded, at once: so their reads and their commits are shared. Each has its conversation in memory meanwhile. */
const AT_ONCE = 64

/** Over the conversations, the lists, the states and the store of the service. */
export const layer: Layer.Layer<BulkRun, never, Conversations | TurnLists | StoredTurns | Store> = Layer.effect(
  BulkRun,
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
      const isQueued = Option.getOrUndefined(yield* store.turn(turnId))?.end?.queued === true
      const message = isQueued ? NEVER_RAN : `Turn ${last?.turnId} came after it.`
      return { outcome: "refused", message }
    })

    const retryAll = Effect.fnUntraced(function* (
      turns: ReadonlyArray<Turn>
    ): Effect.fn.Return<ReadonlyArray<Outcome>> {
      const known = yield* Effect.forEach(
        turns,
        (turn) => Effect.catch(unretried(turn), (error) => Effect.succeed(refused(error))),
        { concurrency: "unbounded" }
      )
      const retried = turns.filter((_, i) => known[i] === undefined)
      const outcomes = yield* each(retried, ({ conversationId, turnId }) =>
        conversations.retry(conversationId, { turnId: retryIdOf(turnId), isSubmitted: true })
      )
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
      if (command.type === "retry") return retryAll(turns)
      return each(turns, ({ conversationId, turnId }) =>
        command.type === "abort"
          ? conversations.abort(conversationId, turnId)
          : conversations.steer({ ...command, conversationId }, origin, turnId)
      )
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
      run: Effect.fn("BulkRun.run")(function* (request, origin) {
        const {
          command,
          cursor,
          filter: { gateway, turnIds, ...filter },
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
        const turns = page.turns
          .filter(({ conversationId }) => gateway === undefined || HeldCallIds.isHeld(conversationId))
          .map(({ conversationId, turnId }) => ({ conversationId, turnId }))
        return { turns: yield* outcomesOf(request, turns, status, origin), ...defined({ next: page.next }) }
      })
    }
  })
)

// --- internal

type Outcome = Omit<Wire.BulkOutcome, "turnId" | "conversationId">
type Status = TurnState.TurnState["status"]

const NOTHING: Outcome = { outcome: "idle" }

const NEVER_RAN = "It was ended before it ran. Send its prompt again."

const refused = ({ message }: { readonly message: string }): Outcome => ({ outcome: "refused", message })

/** Carries out a command for each turn, some at a time; `false`: there was nothing to do. */
const each = (
  turns: ReadonlyArray<Turn>,
  carryOut: (turn: Turn) => Effect.Effect<boolean | Ids.TurnId, { readonly message: string }>
): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.forEach(
    turns,
    (turn) =>
      Effect.match(carryOut(turn), {
        onFailure: refused,
        onSuccess: (done): Outcome => (done === false ? NOTHING : { outcome: "done" })
      }),
    { concurrency: AT_ONCE }
  )

interface Turn {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
}

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
    return status === "waiting" || status === "running" || status === "queued"
      ? undefined
      : `filter.status: found "${status}"; expected "queued", "running" or "waiting" for an abort.`
  }
  return status === "waiting" ? undefined : `filter.status: found "${status}"; expected "waiting" for "${type}".`
}
