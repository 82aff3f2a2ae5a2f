/**
 * One turn that is driven without a fiber: its value, settings and call in progress.
 *
 * ```
 *   Begun ──▶ Calling ──▶ Recording ──▶ Left: parked, or handed to a fiber
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
import * as TurnRouter from "../turn/TurnRouter.ts"
import * as Admission from "../turn/Admission.ts"
import * as TurnRunner from "../turn/TurnRunner.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import { promptOf, type Resumption } from "../storage/Store.ts"

/** A turn in the driver. */
export interface DrivenTurn {
  readonly session: Session
  readonly life: TurnLife.TurnLife
  readonly resumption: Resumption
  readonly setting: TurnSetting.TurnSetting
  readonly value: BeforeContent.BeforeContent
  readonly router: Router.Router["Service"] | undefined
  /** What it has done and not written yet. */
  unwritten: ReadonlyArray<Records.TurnRecord>
  /** Its records until now. */
  known: ReadonlyArray<Records.Stored>
  /** It has arrived at the wait that it was parked in, ahead of its time. */
  isStandingBy: boolean
  /** The call in progress. */
  call: Handover.BegunCall | undefined
  /** Ends the question to its router. */
  asking: (() => void) | undefined
}

/** A turn that has followed its records until now; `undefined`: a fiber has to run it. */
export const make = (
  services: TurnServices,
  session: Session,
  life: TurnLife.TurnLife,
  resumption: Resumption,
  known: ReadonlyArray<Records.Stored>,
  toolbox: Toolbox.Toolbox["Service"]
): DrivenTurn | undefined => {
  const { chance, observer } = services
  const { conversation, history, persisted, turn } = resumption
  const setting = TurnSetting.of(services, session, life, resumption, known)
  const { isEnabled, target } = setting
  const { plain, policy, strategy } = setting.plan
  if (plain === undefined || policy.spendGuard !== undefined || services.spending?.asks === true) return undefined
  const { hub } = session
  const { acceptedAt, conversationId, turnId } = turn
  const { system } = conversation
  const live = (event: TurnEvent.TransientEvent): void => TurnRunner.live(life, hub, event)
  const decides = Admission.remembering(life).strategy(TurnRunner.switched(strategy, policy, isEnabled))
  const { defaults, patiently, providers, standings } = services
  const routes = TurnRouter.make(
    { standings, credentials: providers.credentials, models: defaults.models, countTokens: () => 0 },
    { policy, history, isEnabled, patiently: patiently(turnId), modelSince: conversation.modelSince }
  )
  const router = routes && TurnRunner.routed(life, routes, decides, services.spending)
  const value = new BeforeContent.BeforeContent(
    {
      conversationId,
      turnId,
      target,
      history,
      startedAt: acceptedAt,
      ...defined({ limits: plain.limits, system, prompt: promptOf(turn) })
    },
    {
      strategy: decides,
      observer,
      live,
      repeat: (events, position) => {
        if (events.some(({ type }, i) => type !== persisted[position + i])) return false
        hub.repeated(events)
        return true
      },
      spread: () => chance.nextDoubleUnsafe(),
      offers: { tools: toolbox.definitions, hasRouter: router !== undefined, hasStrategy: true, hasCompactor: true }
    }
  )
  if (!value.follow(known)) return undefined
  return {
    session,
    life,
    resumption,
    setting,
    value,
    router,
    unwritten: [],
    known,
    call: undefined,
    asking: undefined,
    isStandingBy: false
  }
}
