/**
 * One turn that is driven without a fiber: its value, settings and call in progress.
 *
 * ```
 *   Begun ──▶ Calling ──▶ Recording ──▶ Left: parked, sealed, or handed to a fiber
 *                │ answered, aborted        ▲
 *                └──────────────────────────┘
 * ```
 */
import type { Records, Router, Toolbox } from "@holdfast/kernel"
import { BeforeContent } from "@holdfast/kernel/host"
import { defined, type TurnEvent } from "@holdfast/wire"
import type * as Handover from "../turn/Handover.ts"
import type { Session } from "../session/Session.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import * as Tokenizer from "../tokens/Tokenizer.ts"
import * as TurnRunner from "../turn/TurnRunner.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import { promptOf, type Resumption } from "../storage/Store.ts"

/** A turn in the driver. */
export interface DrivenTurn {
  readonly session: Session
  readonly life: TurnLife.TurnLife
  /** Its stored state, with the events that it has written here. */
  resumption: Resumption
  readonly setting: TurnSetting.TurnSetting
  readonly value: BeforeContent.BeforeContent
  readonly router: Router.Router["Service"] | undefined
  /** Its records until now. */
  known: ReadonlyArray<Records.Stored>
  /** It has arrived at the wait that it was parked in, ahead of its time. */
  isStandingBy: boolean
  /** The call in progress. */
  call: Handover.BegunCall | undefined
  /** Ends the question to its router. */
  asking: (() => void) | undefined
}

/** A turn with its records until now; `undefined`: a fiber has to run it, which loads the tokenizer. */
export const make = (
  services: TurnServices,
  session: Session,
  life: TurnLife.TurnLife,
  resumption: Resumption,
  known: ReadonlyArray<Records.Stored>,
  toolbox: Toolbox.Toolbox["Service"]
): DrivenTurn | undefined => {
  const { chance, observer, patiently, spending } = services
  const { conversation, history, persisted, turn } = resumption
  const { acceptedAt, conversationId, turnId } = turn
  const { system } = conversation
  const { hub } = session
  const setting = TurnSetting.of(services, session, life, resumption, known)
  const { plan, target } = setting
  const count = plan.counts ? Tokenizer.loaded() : Tokenizer.none
  if (count === undefined) return undefined
  const ports = TurnSetting.portsOf(services, setting, resumption, patiently(turnId), count)
  const { limits, report } = ports
  const strategy = TurnRunner.deciding({ ...setting, life, ports, spending })
  const router = ports.router && TurnRunner.routed(life, ports.router, strategy, spending)
  const live = (event: TurnEvent.TransientEvent): void => TurnRunner.live(life, hub, event)
  const { maxRetries } = strategy.budget
  const value = new BeforeContent.BeforeContent(
    {
      facts: {
        conversationId,
        turnId,
        target,
        history,
        startedAt: acceptedAt,
        ...defined({ limits, maxRetries, prompt: promptOf(turn), report, system })
      },
      life: "",
      strategy,
      toolbox,
      hasRouter: router !== undefined,
      hasCompactor: true,
      observer
    },
    {
      live,
      repeat: (events) => hub.repeated(events),
      spread: () => chance.nextDoubleUnsafe()
    },
    known,
    persisted
  )
  return {
    session,
    life,
    resumption,
    setting,
    value,
    router,
    known,
    call: undefined,
    asking: undefined,
    isStandingBy: false
  }
}
