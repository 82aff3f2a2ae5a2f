/**
 * Runs one turn on the service's ports: store, timer, and the session's handles.
 *
 * TurnRunner.R1. An event is on disk before a client sees it. A disk that refuses a write pauses the turn, and does not lose it.
 * TurnRunner.R2. The end of a sleep is absolute: `sleepUntil` gets a moment, not a duration. After a clock was set back it is no further away than
 *     the wait is long.
 * TurnRunner.R3. A turn whose replay differs from its events on disk is stopped before a client sees an event that is not on disk. The
 *     disk keeps the first version.
 * TurnRunner.R4. Events that a replay emits again are not written again: watchers read them from the disk.
 */
import type { JournalCheckpoint } from "@holdfast/journal"
import {
  Checkpoint,
  Compactor,
  EventSink,
  FinalReport,
  Observer,
  Provider,
  RetryStrategy,
  Router,
  Toolbox,
  Turn,
  TurnParked,
  TurnStopped
} from "@holdfast/kernel"
import { Basis, type RetryPolicy, RetryStrategies } from "@holdfast/policy"
import { defined, type Ids, type TurnEvent } from "@holdfast/wire"
import { Clock, Context, Deferred, Duration, Effect, identity, Schedule } from "effect"
import * as Handover from "./Handover.ts"
import type { Events } from "../storage/EventJournal.ts"
import { promptOf, type Resumption, type Store, type StoredEvent } from "../storage/Store.ts"
import * as Admission from "./Admission.ts"
import type { GateWait } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import type { Hub } from "../session/Hub.ts"
import type { Session } from "../session/Session.ts"
import * as Spending from "../spend/Spending.ts"
import * as TurnLife from "../session/TurnLife.ts"
import type { TurnPorts } from "./TurnPorts.ts"
import type { TurnSetting } from "./TurnSetting.ts"
import * as Warnings from "./Warnings.ts"

/** The parts that one turn runs on. */
interface Setting extends TurnSetting {
  /** The work that this life of the turn has done before. */
  readonly handover?: Handover.Handover | undefined
  readonly session: Session
  readonly life: TurnLife.TurnLife
  /** The stored state of the turn and of its conversation. */
  readonly resumption: Resumption
  readonly gates: Gates.Gates["Service"]
  readonly ports: TurnPorts
  readonly store: Store["Service"]
  /** Receives what the turn has done. */
  readonly observer: Observer.Listeners | undefined
  readonly journaled: JournalCheckpoint.Joined<Events, ReadonlyArray<StoredEvent>>
  /** The limits of spending; absent: there are none. */
  readonly spending: Spending.Spending | undefined
  /** The toolbox that runs its tools. */
  readonly toolbox: Toolbox.Toolbox["Service"]
  /** Waits for a moment in epoch milliseconds (rule D11). */
  readonly sleepUntil: (end: number) => Effect.Effect<void>
}

/** Runs a turn to its seal, or until it leaves memory to wait. When interrupted, it stops unsealed. */
export const run = (
  setting: Setting
): Effect.Effect<TurnEvent.TurnEnd, TurnParked.TurnParked | TurnStopped.TurnStopped> => {
  const { target, provider, ports } = setting
  const { compactor, limits, report } = ports
  const strategy = strategyOf(setting)
  const router = ports.router && routed(setting.life, ports.router, strategy, setting.spending)
  const { turn, conversation, history } = setting.resumption
  const { turnId, conversationId, acceptedAt } = turn
  const { system } = conversation
  const { handover } = setting
  const resumed = handover && Handover.takeCall(handover, provider)
  const services = Context.make(Provider.Provider, resumed?.provider ?? provider).pipe(
    Context.add(EventSink.EventSink, sinkOf(setting)),
    Context.add(RetryStrategy.RetryStrategy, strategy),
    Context.add(Checkpoint.Checkpoint, setting.journaled.checkpoint),
    Context.add(Toolbox.Toolbox, setting.toolbox),
    Context.add(Compactor.Compactor, compactor),
    router === undefined ? identity : Context.add(Router.Router, router),
    report === undefined ? identity : Context.add(FinalReport.FinalReport, report),
    setting.observer === undefined ? identity : Context.add(Observer.Observer, setting.observer)
  )
  const turned = Turn.runTurnOn(
    services,
    {
      conversationId,
      turnId,
      target,
      history,
      startedAt: acceptedAt,
      priorWork: handover?.priorWork,
      ...defined({ limits, system, prompt: promptOf(turn) })
    },
    abortsOf(setting.life, resumed?.abortBy)
  )
  return resumed === undefined ? turned : releasing(turned, resumed.release)
}

/**
 * Retries writes that the disk refuses: after 1 s, 2 s, 4 s … and then every 30 s, because a person has to empty a full disk. Fails with
 * `TurnStopped` only when the service stops.
 */
export const retryingWrites =
  (turnId: Ids.TurnId, stopping: Effect.Effect<void>): JournalCheckpoint.Persist =>
  (effect) =>
    // A working disk costs nothing but this one look at the outcome.
    Effect.catch(effect, (error) => {
      let failure: typeof error | undefined = error
      return Effect.suspend(() => {
        const first = failure
        failure = undefined
        return first === undefined ? effect : Effect.fail(first)
      }).pipe(
        Effect.tapErrorTag("StorageError", ({ message }) => Effect.logError(`Turn ${turnId} is paused: ${message}`)),
        Effect.retry({ schedule: patience, while: ({ _tag }) => _tag === "StorageError" }),
        Effect.raceFirst(Effect.andThen(stopping, Effect.fail(shuttingDown))),
        Effect.mapError(({ message }) => new TurnStopped.TurnStopped({ message }))
      )
    })

/** The error of callers that wait for a turn when its process releases it. */
export const shuttingDown = new TurnStopped.TurnStopped({
  message: "This process releases the turn; it continues in the process that takes it up next."
})

/** Passes a transient event to the hub, unless it is known there. */
export const live = (life: TurnLife.TurnLife, hub: Hub, event: TurnEvent.TransientEvent): void => {
  // A turn that is taken up again announces its present wait or step. Clients get that once, and no event of a wait that the gate has ended.
  const { ticket } = life.state
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

/** Emits events that are on disk now; `false`: another process has written others since this turn was read (TurnRunner.R3). */
export const published = (
  hub: Hub,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  stored: ReadonlyArray<StoredEvent> = []
): boolean => {
  if (stored.some(({ event }, i) => event.type !== events[i]?.type)) return false
  hub.persisted(stored)
  return true
}

/** Decides by a turn's plan, behind its switch, its gate and the limits of spending. */
export const deciding = ({
  isEnabled,
  life,
  plan: { policy, strategy },
  ports,
  spending
}: Pick<Setting, "isEnabled" | "life" | "spending"> & {
  readonly plan: Pick<Setting["plan"], "policy" | "strategy">
  readonly ports: Pick<TurnPorts, "countTokens">
}) => {
  const guarded = { ...strategy, ...RetryStrategies.guardedBy(policy.spendGuard, ports.countTokens) }
  const decided = Admission.remembering(life).strategy(switched(guarded, policy, isEnabled))
  return spending === undefined ? decided : spending.asking(decided, life.turnId)
}

/** A turn's router, behind the limits of spending. It records what the gate keeps of the turn. */
export const routed = (
  life: TurnLife.TurnLife,
  router: Router.Router["Service"],
  strategy: RetryStrategy.Deciding,
  spending: Spending.Spending | undefined
): Router.Router["Service"] =>
  Admission.remembering(life).router(spending === undefined ? router : Spending.routed(router, strategy))

/** Decides as `strategy`, while the conversation's switch is on (rule P15). */
export const switched = <S extends RetryStrategy.Deciding>(
  strategy: S,
  policy: RetryPolicy.RetryPolicy,
  isEnabled: () => boolean
): S => ({
  ...strategy,
  decide: (attempt, failure, spent) =>
    isEnabled() ? RetryStrategy.decide(strategy, attempt, failure, spent) : { basis: Basis.switchedOff(policy, spent) }
})

// --- internal

/** The abort of a turn. `by` delays it until it may take effect. */
const abortsOf =
  (life: TurnLife.TurnLife, by: (abort: () => void) => void = (abort) => abort()): Turn.OnAbort =>
  (act) => {
    const abort = () => by(act)
    life.onAbort = abort
    if (Deferred.isDoneUnsafe(life.abort)) abort()
    return () => {
      if (life.onAbort === abort) life.onAbort = undefined
    }
  }

/** Runs a turn once, and then `release`. The fiber keeps the effect that it runs; the input and the services of the turn are not kept with it. */
const releasing = <A, E>(turned: Effect.Effect<A, E>, release: Effect.Effect<void>): Effect.Effect<A, E> => {
  let waiting: typeof turned | undefined = turned
  const once = Effect.suspend(() => {
    const first = waiting ?? Effect.die(new Error("A turn with a call in progress was run twice."))
    waiting = undefined
    return first
  })
  return Effect.ensuring(once, release)
}

const patience = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

const sinkOf = ({
  handover,
  journaled,
  life,
  resumption: { persisted, turn },
  session: { hub },
  store
}: Setting): EventSink.EventSink["Service"] => {
  const { conversationId, turnId } = turn
  const isAnnounced = handover?.priorWork?.announced !== undefined
  return {
    live: (event) => live(life, hub, event),
    persist: (events, position) => {
      if (events.some(({ type }, i) => type !== (persisted[position + i] ?? type))) return Effect.fail(diverged(turnId)) // TurnRunner.R3
      if (position + events.length <= persisted.length)
        // If the step has been announced, the driver has repeated these events already, and those in progress came behind them.
        return Effect.sync(() => void (isAnnounced || hub.repeated(events))) // TurnRunner.R4
      const persisting = Effect.flatMap(
        journaled.carrying(
          { conversationId, events, position },
          Effect.suspend(() => store.appendEvents(conversationId, turnId, events, position))
        ),
        (stored) => {
          // That is no defect, and the turn is read again.
          if (!published(hub, events, stored)) return Effect.fail(elsewhere(turnId))
          return Warnings.log(turnId, events)
        }
      )
      return Effect.catchDefect(persisting, (defect) => Effect.fail(TurnStopped.ofDefect(defect))) // rule C10
    },
    isPersisted: (position) => position < persisted.length,
    withdraw: () => hub.withdraw()
  }
}

/** The turn does not repeat its records: a defect, as the kernel is deterministic (rule C10). */
const diverged = (turnId: Ids.TurnId): TurnStopped.TurnStopped =>
  new TurnStopped.TurnStopped({
    message: `Turn ${turnId} diverged from its journal; what is on disk was left as it is.`,
    defect: true
  })

const elsewhere = (turnId: Ids.TurnId): TurnStopped.TurnStopped =>
  new TurnStopped.TurnStopped({ message: `Turn ${turnId} is being run elsewhere.` })

/** Longest wait that stays in memory: leaving memory and returning costs a few reads of the disk. */
export const RESIDENT_MS = 5_000

const strategyOf = (setting: Setting): RetryStrategy.RetryStrategy["Service"] => {
  const { gates, life, session, sleepUntil } = setting
  const { turnId, wait } = life
  const resume = () => session.hub.inProgress.resume()
  const held = (until: number) => session.hub.held(until)
  const asleep = (elapsed: Effect.Effect<void>, awaited: GateWait | undefined) =>
    Admission.endAtGate(wait.sleep(elapsed, resume), life, awaited)
  const park = (retryAt: number) => Effect.fail(new TurnParked.TurnParked({ retryAt }))
  const sleep: RetryStrategies.Sleep = (delay, wanted, calls) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      wait.expect(calls)
      const end = Math.min(wanted?.retryAt ?? Infinity, now + Duration.toMillis(delay)) // TurnRunner.R2
      const awaited = wanted && Gates.waitOf(gates, turnId, wanted)
      if (life.standsBy)
        return Effect.flatMap(wait.standBy(resume), () => {
          life.move(TurnLife.goOn)
          return wait.hasNews ? asleep(Effect.void, awaited) : park(end)
        })
      life.move(TurnLife.waitAt(awaited))
      if (Duration.toMillis(delay) > RESIDENT_MS && !wait.hasNews) return park(end)
      return asleep(Admission.waitAtGate(life, sleepUntil(end), awaited, held), awaited)
    })
  return { ...deciding(setting), sleep }
}
