/**
 * Carries out a command for all turns that a filter names (rule X15), and raises limits of spending, upon which the turns that ask about them go on
 * (rule X11): by a command, and when a person has answered one of them.
 *
 * - One call is one page of the list, each turn with an outcome of its own: a refusal of one harms no other.
 * - The same call again repeats nothing: a retry has an id that follows from the turn's, and other commands find nothing to do.
 * - Only the newest turn of a conversation is retried: the model would answer another prompt otherwise.
 */
import type { StorageError } from "@holdfast/journal"
import { defined, Ids, type TurnEvent, type TurnState } from "@holdfast/wire"
import { BulkCommands as Wire } from "@holdfast/wire/api"
import { Context, Effect, Layer, Option, Stream } from "effect"
import { createHash } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import { Conversations, InvalidRequest } from "../engine/conversation/Conversations.ts"
import type { Refusal } from "../engine/conversation/DomainProblems.ts"
import type * as Spending from "../engine/spend/Spending.ts"
import * as TurnServices from "../engine/turn/TurnServices.ts"
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
    /** A limit is raised when this succeeds, over restarts and for all runners. The turns that ask about it go on then. */
    readonly raise: Spending.Spending["raise"]
  }
>()("@holdfast/session-orchestrator/http/BulkRun") {}

/** Turns that are read, or commanded, at once: so their reads and their commits are shared. Each has its conversation in memory meanwhile. */
const AT_ONCE = 64

/** Over the conversations, the lists, the states and the store of the service. */
export const layer = Layer.effect(
  BulkRun,
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const lists = yield* TurnLists
    const states = yield* StoredTurns
    const store = yield* Store

    const retry = Effect.fnUntraced(function* ({ conversationId, turnId }: Turn) {
      const retriedBy = retryIdOf(turnId)
      const last = Option.getOrUndefined(yield* store.lastTurn(conversationId))
      // The turn of a retry would be newer.
      if (last?.turnId !== turnId) {
        if (last?.turnId === retriedBy || Option.isSome(yield* store.turn(retriedBy))) return { ...NOTHING, retriedBy }
        const isQueued = Option.getOrUndefined(yield* store.turn(turnId))?.end?.queued === true
        return refused({ message: isQueued ? NEVER_RAN : `Turn ${last?.turnId} came after it.` })
      }
      yield* conversations.retry(conversationId, { turnId: retriedBy, isSubmitted: true })
      return { ...DONE, retriedBy }
    })

    const carryOut = (
      { command, dryRun }: Wire.RunBulk,
      turn: Turn,
      origin: string
    ): Effect.Effect<Outcome, Refusal> => {
      if (dryRun === true) return Effect.succeed({ outcome: "listed" })
      if (command.type === "retry") return retry(turn)
      const { conversationId, turnId } = turn
      const isDone =
        command.type === "abort"
          ? conversations.abort(conversationId, turnId)
          : conversations.steer({ ...command, conversationId }, origin, turnId)
      return Effect.map(isDone, (isDone) => (isDone ? DONE : NOTHING))
    }

    /** Turns with their outcomes: those of another status have nothing to do. */
    const outcomesOf = (
      request: Wire.RunBulk,
      turns: ReadonlyArray<Turn & { readonly status?: Status }>,
      status: Status,
      origin: string
    ): Effect.Effect<ReadonlyArray<Wire.BulkOutcome>> =>
      Effect.forEach(
        turns,
        ({ conversationId, status: own = status, turnId }) =>
          Effect.match(
            own === status ? carryOut(request, { conversationId, turnId }, origin) : Effect.succeed(NOTHING),
            {
              onFailure: (error) => ({ turnId, conversationId, ...refused(error) }),
              onSuccess: (outcome) => ({ turnId, conversationId, ...outcome })
            }
          ),
        { concurrency: AT_ONCE }
      )

    const run = Effect.fn("BulkRun.run")(function* (request: Wire.RunBulk, origin: string) {
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
        // Only its program can ask a held call again.
        .filter(({ conversationId }) =>
          HeldCallIds.isHeld(conversationId) ? command.type !== "retry" : gateway === undefined
        )
        .map(({ conversationId, turnId }) => ({ conversationId, turnId }))
      return { turns: yield* outcomesOf(request, turns, status, origin), ...defined({ next: page.next }) }
    })

    const spending = yield* TurnServices.limits
    if (spending === undefined)
      return {
        run,
        raise: () => Effect.fail(new InvalidRequest({ message: "The configuration has no limits (spend)." }))
      }
    const goOn = Effect.fnUntraced(function* (name: TurnEvent.LimitName) {
      let cursor: string | undefined
      do {
        const { next, turns } = yield* lists.turns({ status: "waiting" }, { limit: ASKING_AT_ONCE, cursor })
        const asking = turns.filter(({ wait }) => isDeepStrictEqual(wait?.asks?.raises, name))
        const turnIds = asking.map(({ turnId }) => turnId)
        if (turnIds.length > 0) yield* run({ command: { type: "retry-now" }, filter: { turnIds } }, OF_RAISED)
        cursor = next
      } while (cursor !== undefined)
    })
    yield* Effect.forkScoped(
      Stream.runForEach(spending.raised, (name) =>
        Effect.catch(goOn(name), ({ message }) =>
          Effect.logWarning(`Turns that ask about a limit that is raised wait for an answer: ${message}`)
        )
      )
    )
    return { run, raise: spending.raise }
  })
)

// --- internal

/** The origin of a command in its record (rule X4). */
const OF_RAISED = "a limit that was raised"

/** Turns that ask about a limit, and go on together. */
const ASKING_AT_ONCE = 100

type Outcome = Omit<Wire.BulkOutcome, "turnId" | "conversationId">
type Status = TurnState.TurnState["status"]

const NOTHING = { outcome: "idle" } as const
const DONE = { outcome: "done" } as const

const NEVER_RAN = "It was ended before it ran. Send its prompt again."

const refused = ({ message }: { readonly message: string }): Outcome => ({ outcome: "refused", message })

type Turn = Pick<Wire.BulkOutcome, "turnId" | "conversationId">

const retryIdOf = (turnId: Ids.TurnId): Ids.TurnId =>
  Ids.TurnId.make(`retry-${createHash("sha256").update(turnId).digest("hex").slice(0, 32)}`)

/** The statuses of turns that a command is for; each other one is for turns that wait. */
const STATUSES: { readonly [type in Wire.BulkCommand["type"]]?: ReadonlyArray<Status> } = {
  retry: ["failed", "aborted"],
  abort: ["queued", "running", "waiting"]
}

/** A command and a status that never go together. */
const refusalOf = (type: Wire.BulkCommand["type"], status: Status): string | undefined => {
  const expected = STATUSES[type] ?? ["waiting"]
  return expected.includes(status)
    ? undefined
    : `filter.status: found "${status}"; expected ${expected.map((each) => `"${each}"`).join(" or ")} for "${type}".`
}
