/**
 * Reads a turn that is about to run, and waits for what it cannot run without.
 *
 * In order: its turn among those that may take the process down (`InterruptedTurns.enter`), its records, and its tool servers.
 */
import { RecordedWait } from "@holdfast/journal"
import { Records, Toolbox, TurnStopped } from "@holdfast/kernel"
import type { Failure, Ids, TurnEvent } from "@holdfast/wire"
import { Cause, Effect, Option } from "effect"
import * as InterruptedTurns from "../recovery/InterruptedTurns.ts"
import type { Session } from "../session/Session.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import type { Resumption } from "../../storage/Stored.ts"
import * as ContextSize from "../../base/tokens/ContextSize.ts"
import * as MissingTools from "../turn/MissingTools.ts"
import type { TurnServices } from "../turn/TurnServices.ts"

/** Everything that a turn runs with. */
export interface Ready {
  readonly _tag: "Ready"
  readonly resumption: Resumption
  /** Its records until now. */
  readonly known: ReadonlyArray<Records.Stored>
  readonly toolbox: Toolbox.Toolbox["Service"]
  /** The failure of its next call: a tool server that it requires is missing. */
  readonly failure: Failure.Failure | undefined
}

/** How a turn enters. */
export type Entered =
  | Ready
  /** It is sealed instead of run again. */
  | { readonly _tag: "Sealed"; readonly end: TurnEvent.TurnEnd }
  | { readonly _tag: "Stopped"; readonly error: TurnStopped.TurnStopped }

/** Lets a turn enter: at once, if it waits for nothing. Waits for a disk that fails. */
export const enter = (services: TurnServices, session: Session, turn: TurnLife.TurnLife): Effect.Effect<Entered> =>
  Effect.catchCause(entered(services, session, turn), (cause) =>
    Effect.succeed<Entered>({ _tag: "Stopped", error: errorOf(cause) })
  )

/** The error of a turn that stops: a defect is counted (rule C10). */
export const errorOf = <E>(cause: Cause.Cause<E>): E | TurnStopped.TurnStopped =>
  Option.getOrElse(Cause.findErrorOption(cause), () => TurnStopped.ofDefect(Cause.squash(cause)))

// --- internal

const entered = Effect.fnUntraced(function* (
  services: TurnServices,
  session: Session,
  turn: TurnLife.TurnLife
): Effect.fn.Return<Entered, TurnStopped.TurnStopped> {
  turn.begin()
  if (turn.draft === undefined) {
    const end = yield* InterruptedTurns.enter(services, session, turn)
    if (end !== undefined) return { _tag: "Sealed", end }
  }
  const read = yield* readOf(services, session.conversationId, turn)
  const { known, resumption } = read
  const { conversation, history, turn: own } = resumption
  if (own.end !== undefined) return { _tag: "Sealed", end: own.end } // by another process, or by another life of it
  turn.wait.markTaken(RecordedWait.commandIdsOf(known))
  turn.holds.slot?.weigh(ContextSize.charactersOf(history) + ContextSize.charactersOfParts(own.content))
  if (services.providers.held?.(conversation.conversationId) !== undefined)
    return { _tag: "Ready", ...read, toolbox: Toolbox.noop, failure: undefined }
  const { tools } = conversation
  const offered = tools === undefined ? services.tools : services.tools.only(tools)
  const toolbox = yield* offered.toolbox
  const isFirstLife = !known.some(({ name }) => name === Records.nameOf("Attempt", 0))
  const failure = yield* MissingTools.settle(offered, session, turn, isFirstLife)
  return { _tag: "Ready", ...read, toolbox, failure }
})

/** `GroupRead` groups the reads. */
const readOf = (
  { log, patiently, store }: TurnServices,
  of: Ids.ConversationId,
  { arrival, turnId }: TurnLife.TurnLife
): Effect.Effect<Pick<Ready, "resumption" | "known">, TurnStopped.TurnStopped> => {
  const known = arrival?.resumption
  if (known !== undefined) return Effect.succeed({ resumption: known, known: arrival?.records ?? [] })
  const found = Effect.zipWith(
    store.resumption(turnId, of),
    // If a new turn has records all the same, its first record collides with them (`TurnLog.W2`).
    arrival === undefined ? log.load(turnId) : Effect.succeed<ReadonlyArray<Records.Stored>>([]),
    (resumption, known) => ({ resumption: Option.getOrThrow(resumption), known }),
    { concurrent: true }
  )
  return patiently(turnId)(found)
}
