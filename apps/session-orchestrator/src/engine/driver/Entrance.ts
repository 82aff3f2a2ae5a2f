/**
 * Reads a turn that is about to run, and waits for what it cannot run without.
 *
 * In order: its turn among those that may take the process down (`InterruptedTurns.enter`), its records, and its tool servers.
 * A turn that needs none of these waits enters at once, without a fiber.
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

type Read = Pick<Ready, "resumption" | "known">

/** The way of turns into the loop. */
export class Entrance {
  private readonly services: TurnServices
  /** The tools of conversations that have chosen none; `undefined`: tool servers are starting. */
  private toolbox: Toolbox.Toolbox["Service"] | undefined = undefined

  constructor(services: TurnServices, fork: (effect: Effect.Effect<void>) => unknown) {
    this.services = services
    fork(Effect.map(services.tools.toolbox, (toolbox) => void (this.toolbox = toolbox)))
  }

  /** Lets a turn enter that waits for nothing; `undefined`: it enters by `wait`. */
  now(turn: TurnLife.TurnLife): Ready | undefined {
    const { arrival, interruption } = turn
    turn.begin()
    const resumption = arrival?.resumption
    if (resumption === undefined || interruption !== undefined) return undefined
    if (turn.draft === undefined && !this.joins(turn)) return undefined
    return this.ready(turn, { resumption, known: arrival?.records ?? [] })
  }

  /** Lets a turn enter. Waits for a disk that fails. */
  wait(session: Session, turn: TurnLife.TurnLife): Effect.Effect<Entered> {
    return Effect.catchCause(this.entered(session, turn), (cause) =>
      Effect.succeed<Entered>({ _tag: "Stopped", error: errorOf(cause) })
    )
  }

  private readonly entered = Effect.fnUntraced(function* (
    this: Entrance,
    session: Session,
    turn: TurnLife.TurnLife
  ): Effect.fn.Return<Entered, TurnStopped.TurnStopped> {
    const { holds, interruption } = turn
    if (holds.presence === undefined && (interruption !== undefined || !this.joins(turn))) {
      const end = yield* InterruptedTurns.enter(this.services, session, turn)
      if (end !== undefined) return { _tag: "Sealed", end }
    }
    const read = yield* this.read(session.conversationId, turn)
    const { end } = read.resumption.turn
    if (end !== undefined) return { _tag: "Sealed", end } // by another process, or by another life of it
    return this.ready(turn, read) ?? (yield* this.settled(session, turn, read))
  })

  /** Counts a turn among those that run, if none runs alone. */
  private joins(turn: TurnLife.TurnLife): boolean {
    let isAdmitted = false
    const presence = this.services.quarantine.request(false, () => (isAdmitted = true))
    if (isAdmitted) turn.hold("presence", presence)
    else presence.leave()
    return isAdmitted
  }

  /** `GroupRead` groups the reads. */
  private read(
    of: Ids.ConversationId,
    { arrival, turnId }: TurnLife.TurnLife
  ): Effect.Effect<Read, TurnStopped.TurnStopped> {
    const { log, patiently, store } = this.services
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

  private ready(turn: TurnLife.TurnLife, read: Read): Ready | undefined {
    const { services } = this
    const { conversation, history, turn: own } = read.resumption
    const isHeld = services.providers.held?.(conversation.conversationId) !== undefined
    const toolbox = isHeld ? Toolbox.noop : this.toolbox
    turn.wait.markTaken(RecordedWait.commandIdsOf(read.known))
    turn.holds.slot?.weigh(ContextSize.charactersOf(history) + ContextSize.charactersOfParts(own.content))
    const hasTools = isHeld || (conversation.tools === undefined && services.tools.missing().length === 0)
    return toolbox === undefined || !hasTools ? undefined : { _tag: "Ready", ...read, toolbox, failure: undefined }
  }

  private readonly settled = Effect.fnUntraced(function* (
    this: Entrance,
    session: Session,
    turn: TurnLife.TurnLife,
    read: Read
  ): Effect.fn.Return<Ready> {
    const { services } = this
    const { tools } = read.resumption.conversation
    const offered = tools === undefined ? services.tools : services.tools.only(tools)
    const toolbox = yield* offered.toolbox
    const isFirstLife = !read.known.some(({ name }) => name === Records.nameOf("Attempt", 0))
    const failure = yield* MissingTools.settle(offered, session, turn, isFirstLife)
    return { _tag: "Ready", ...read, toolbox, failure }
  })
}

/** The error of a turn that stops: a defect is counted (rule C10). */
export const errorOf = <E>(cause: Cause.Cause<E>): E | TurnStopped.TurnStopped =>
  Option.getOrElse(Cause.findErrorOption(cause), () => TurnStopped.ofDefect(Cause.squash(cause)))
