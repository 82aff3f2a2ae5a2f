/** One turn in the loop: its state, its ports, and what it does now. */
import type { Observer } from "@holdfast/kernel"
import { Engine, type Performer } from "@holdfast/kernel/host"
import { defined, type Ids, type TurnEvent } from "@holdfast/wire"
import type { Fiber } from "effect"
import * as Tools from "../conversation/Tools.ts"
import type { GateWait } from "../gate/Gatekeeper.ts"
import type { Hub } from "../session/Hub.ts"
import type { Session } from "../session/Session.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import { promptOf } from "../../storage/Stored.ts"
import * as MissingTools from "../turn/MissingTools.ts"
import * as Ownership from "../turn/Ownership.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import type { Ready } from "./Entrance.ts"

/** The wait for whose time a turn leaves memory. */
export interface Leaving {
  /** Epoch milliseconds. */
  readonly retryAt: number
  readonly awaited: GateWait | undefined
}

/** A wait in memory. */
export interface Sleep {
  readonly starts: Extract<Engine.Effect, { readonly _tag: "Sleep" }>
  readonly awaited: GateWait | undefined
  readonly stop: () => void
}

/** An append of a turn, until it is on disk. */
export interface Writing {
  /** Nothing is before it in the line of its session. */
  isBegun: boolean
  /** Takes it out of that line. */
  over: () => void
  /** Is called when it is decided, if the turn has left meanwhile. */
  done: () => void
  /** The disk has refused it. */
  retry: Fiber.Fiber<void> | undefined
}

/** A turn in the loop. */
export interface DrivenTurn {
  readonly conversationId: Ids.ConversationId
  readonly session: Session
  readonly life: TurnLife.TurnLife
  readonly engine: Engine.Turn
  readonly ports: Performer.Ports
  readonly observer: Observer.Listeners | undefined
  /** The number of its records on disk. */
  seq: number
  isFeeding: boolean
  /** Its append is not on disk yet. */
  writing: Writing | undefined
  call: Performer.Listening | undefined
  /** The fibers that perform commands. */
  readonly performing: Set<Fiber.Fiber<void>>
  sleep: Sleep | undefined
  /** It is cut off when its commands have ended. */
  cut: Engine.Cut | undefined
}

/** A turn that begins, or goes on after earlier lives. */
export const make = (
  services: TurnServices,
  session: Session,
  life: TurnLife.TurnLife,
  { failure, known, resumption, toolbox: offered }: Ready
): DrivenTurn => {
  const { chance, clock, ownership } = services
  const observer = life.draft?.observer ?? services.observer
  const { conversation, history, turn } = resumption
  const { acceptedAt, conversationId, turnId } = turn
  const { system } = conversation
  const { hub } = session
  const setting = TurnSetting.of(services, session, life, resumption, known)
  const { compactor, hasCompactor, limits, provider, report, router, strategy, target } = setting
  const owned = Ownership.toolsOf(ownership, conversationId, offered)
  const toolbox = Tools.answeredBy(owned, () => session.present(conversation).toolAnswers)
  const { maxRetries } = strategy.budget
  const draw = () => chance.nextDoubleUnsafe()
  let name: string | undefined
  const engine = new Engine.Turn(
    Engine.make({
      facts: {
        conversationId,
        turnId,
        target,
        history,
        startedAt: acceptedAt,
        ...defined({ limits, maxRetries, prompt: promptOf(turn), report, system })
      },
      get life() {
        return (name ??= draw().toString(36).slice(2))
      },
      strategy,
      toolbox,
      hasRouter: router !== undefined,
      hasCompactor,
      observer
    })
  )
  return {
    conversationId,
    session,
    life,
    engine,
    ports: {
      provider: failure === undefined ? provider : MissingTools.failing(failure),
      toolbox,
      sink: { live: (event) => live(life, hub, event), withdraw: () => hub.withdraw() },
      strategy,
      router,
      compactor,
      now: () => clock.currentTimeMillisUnsafe(),
      draw
    },
    observer,
    seq: known.length,
    isFeeding: false,
    writing: undefined,
    call: undefined,
    performing: new Set(),
    sleep: undefined,
    cut: undefined
  }
}

/** Passes a transient event to the hub, unless it is known there. */
export const live = (life: TurnLife.TurnLife, hub: Hub, event: TurnEvent.TransientEvent): void => {
  // A turn that is taken up again announces its present wait or step. Clients get that once, and no event of a wait that the gate has ended.
  const { ticket } = life.holds
  if (event.type === "provider-retry" && ticket !== undefined) {
    if (ticket.isEarly) hub.inProgress.live(event)
    return
  }
  if (hub.inProgress.isKnown(event)) return
  const { retry } = hub.inProgress
  hub.live(event)
  // The wait goes on behind the beginning of an early attempt, as for clients that come later.
  if (event.type === "step-start" && ticket?.isEarly === true && retry !== undefined) hub.live(retry)
}
