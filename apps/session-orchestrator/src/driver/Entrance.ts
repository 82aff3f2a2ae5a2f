/**
 * Admits turns that may be driven without a fiber, and reads their state.
 *
 * Entrance.N1. An admitted turn was new, or has come back from a wait, and has no command.
 *     Its conversation uses all tool servers: a conversation that chose some of them needs its own toolbox.
 * Entrance.N2. A turn that cannot be driven, or cannot be read, goes elsewhere as if it had never been here.
 */
import { JournalCheckpoint } from "@holdfast/journal"
import type { Records, Toolbox } from "@holdfast/kernel"
import { Cause, Effect, Option } from "effect"
import type { Session } from "../session/Session.ts"
import * as TurnLife from "../session/TurnLife.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import type { Resumption } from "../storage/Store.ts"
import * as ContextSize from "../tokens/ContextSize.ts"
import * as DrivenTurn from "./DrivenTurn.ts"
import type * as Handover from "../turn/Handover.ts"

/** A turn that is about to run. */
interface Fresh {
  readonly session: Session
  readonly turn: TurnLife.TurnLife
}

/** A turn with its stored state and records. */
export interface Found {
  readonly fresh: Fresh
  readonly resumption: Resumption
  readonly known: ReadonlyArray<Records.Stored>
}

/** Where turns go from here. */
interface Ways {
  /** The turn's state is read: `enter` is next. */
  readonly found: (found: Found) => void
  readonly elsewhere: (fresh: Fresh, handover: Handover.Handover | undefined) => void
}

/** The turns that are read before the driver takes them. */
export class Entrance {
  private readonly services: TurnServices
  private readonly ways: Ways
  private readonly fork: (effect: Effect.Effect<void>) => unknown
  private toolbox: Toolbox.Toolbox["Service"] | undefined = undefined

  constructor(services: TurnServices, ways: Ways, fork: (effect: Effect.Effect<void>) => unknown) {
    this.services = services
    this.ways = ways
    this.fork = fork
    fork(Effect.map(services.tools.toolbox, (toolbox) => void (this.toolbox = toolbox)))
  }

  /** Takes a turn, if it may be driven (Entrance.N1). */
  take(fresh: Fresh): boolean {
    const { turn } = fresh
    const { state } = turn
    if (this.toolbox === undefined || this.services.tools.missing().length > 0) return false
    const isBack = state._tag === "Ahead" || (state._tag === "Queued" && turn.wait.hasNews)
    if (turn.isCalled || !(isBack || (state._tag === "Queued" && state.arrival !== undefined))) return false
    if (state.interruption !== undefined) return false
    const resumption = state.arrival?.resumption
    if (resumption === undefined) this.read(fresh)
    else this.ways.found({ fresh, resumption, known: [] })
    return true
  }

  /** Begins to run a turn; `undefined`: it goes elsewhere. */
  enter({ fresh, known, resumption }: Found): DrivenTurn.DrivenTurn | undefined {
    const { session, turn } = fresh
    const { toolbox } = this
    const driven =
      toolbox === undefined || resumption.conversation.tools !== undefined || turn.isCalled
        ? undefined
        : DrivenTurn.make(this.services, session, turn, resumption, known, toolbox)
    let isAdmitted = false
    const presence = driven && this.services.quarantine.request(false, () => (isAdmitted = true))
    if (driven === undefined || presence === undefined || !isAdmitted) {
      presence?.leave()
      this.ways.elsewhere(fresh, { isEntered: false, resumption, known })
      return undefined
    }
    turn.move(TurnLife.begin)
    turn.move(TurnLife.enter(presence))
    turn.wait.markTaken(JournalCheckpoint.commandIdsOf(known))
    turn.state.slot?.weigh(
      ContextSize.charactersOf(resumption.history) + ContextSize.charactersOfParts(resumption.turn.content)
    )
    return driven
  }

  /** `GroupRead` groups the reads. A turn whose read fails goes to a fiber, which reads again (Entrance.N2). */
  private read(fresh: Fresh): void {
    const { journal, store } = this.services
    const { arrival } = fresh.turn.state
    const { turnId } = fresh.turn
    const found = Effect.zip(
      store.resumption(turnId),
      arrival === undefined ? journal.load(turnId) : Effect.succeed<ReadonlyArray<Records.Stored>>([]),
      { concurrent: true }
    )
    this.fork(
      Effect.matchCause(found, {
        onSuccess: ([resumption, known]) => {
          if (Option.isNone(resumption)) this.ways.elsewhere(fresh, undefined)
          else this.ways.found({ fresh, resumption: resumption.value, known })
        },
        onFailure: (cause) => {
          if (!Cause.hasInterruptsOnly(cause)) this.ways.elsewhere(fresh, undefined)
        }
      })
    )
  }
}
