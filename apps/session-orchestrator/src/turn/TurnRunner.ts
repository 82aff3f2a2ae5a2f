/**
 * One turn on the service's own ports: the store hears it, the timer lets it sleep, the session's handles reach it.
 *
 * R1. An event is on disk before a client sees it. A disk that refuses pauses the turn, and does not lose it.
 * R2. The end of a sleep is absolute: `sleepUntil` gets a moment, not a duration.
 * R3. A turn that is run again and says something else than it has on disk is stopped, before anybody is told what is not
 *     there: the disk keeps what was first.
 * R4. What a turn that is run again says for the second time is not written for the second time: whoever watches has it from
 *     the disk.
 */
import type { JournalCheckpoint } from "@holdfast/journal"
import {
  Checkpoint,
  Compactor,
  EventSink,
  FinalReport,
  Provider,
  RetryStrategy,
  Router,
  Toolbox,
  Turn,
  TurnParked,
  TurnStopped
} from "@holdfast/kernel"
import { Basis, type RetryPolicy, RetryStrategies } from "@holdfast/policy"
import type { Ids, Target, TurnEvent } from "@holdfast/wire"
import { Clock, Context, Deferred, Duration, Effect, identity, Schedule } from "effect"
import * as Handover from "./Handover.ts"
import type { Events } from "../storage/Journal.ts"
import type { Resumption, Store, StoredEvent } from "../storage/Store.ts"
import * as Admission from "./Admission.ts"
import type { Awaited } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import type { Hub } from "../session/Hub.ts"
import type { Session } from "../session/Session.ts"
import * as TurnLife from "../session/TurnLife.ts"
import type { TurnPorts } from "./TurnPorts.ts"
import * as Warnings from "./Warnings.ts"

/** What a turn runs on. */
export interface Setting {
  /** What this life of the turn has done before. */
  readonly handover?: Handover.Handover | undefined
  readonly session: Session
  readonly life: TurnLife.TurnLife
  /** What the store has of the turn and of its conversation. */
  readonly resumption: Resumption
  readonly target: Target.Target
  readonly policy: RetryPolicy.RetryPolicy
  /** Held to the limits of the policy, and through the gates. */
  readonly provider: Provider.Provider["Service"]
  readonly gates: Gates.Gates["Service"]
  readonly ports: TurnPorts
  readonly isEnabled: () => boolean
  readonly store: Store["Service"]
  /** How its transient events leave (`Early`, E1). */
  readonly emitting: (emit: (event: TurnEvent.TransientEvent) => void) => (event: TurnEvent.TransientEvent) => void
  readonly journaled: JournalCheckpoint.Joined<Events, ReadonlyArray<StoredEvent>>
  /** What its tools are run by, once it is known which there are. */
  readonly toolbox: Toolbox.Toolbox["Service"]
  /** Waits for a moment in epoch milliseconds (D11). */
  readonly sleepUntil: (end: number) => Effect.Effect<void>
}

/** Runs a turn to its seal, or until it leaves memory to wait. Interrupted, it stops unsealed. An `Observer` comes with the context, where there is one. */
export const run = (
  setting: Setting
): Effect.Effect<TurnEvent.TurnEnd, TurnParked.TurnParked | TurnStopped.TurnStopped> => {
  const { target, provider, ports } = setting
  const { compactor, limits, report, router } = ports
  const { turn, conversation, history } = setting.resumption
  const { turnId, conversationId, prompt, acceptedAt } = turn
  const { system } = conversation
  const { call, begun } = setting.handover ?? {}
  const resumed = call === undefined ? undefined : Handover.resumed(call, provider)
  const aborted = Deferred.await(setting.life.abort)
  const turned = Turn.runTurn({
    conversationId,
    turnId,
    target,
    history,
    startedAt: acceptedAt,
    begun,
    abort: resumed === undefined ? aborted : Effect.andThen(resumed.reached, aborted),
    ...(limits === undefined ? undefined : { limits }),
    ...(system === undefined ? undefined : { system }),
    ...(prompt === undefined ? undefined : { prompt })
  }).pipe(
    // A context, not layers: nothing here has to be built, and ten thousand turns come by.
    Effect.provideContext(
      Context.make(Provider.Provider, resumed?.provider ?? provider).pipe(
        Context.add(EventSink.EventSink, sinkOf(setting)),
        Context.add(RetryStrategy.RetryStrategy, strategyOf(setting)),
        Context.add(Checkpoint.Checkpoint, setting.journaled.checkpoint),
        Context.add(Toolbox.Toolbox, setting.toolbox),
        Context.add(Compactor.Compactor, compactor),
        router === undefined ? identity : Context.add(Router.Router, router),
        report === undefined ? identity : Context.add(FinalReport.FinalReport, report)
      )
    )
  )
  return resumed === undefined ? turned : Effect.ensuring(turned, resumed.release)
}

/**
 * A full disk is emptied by a person, so a turn keeps asking: after 1 s, 2 s, 4 s … and then every 30 s. It stops, unsealed,
 * only with the service.
 */
export const untilItWorks =
  (turnId: Ids.TurnId, stopping: Effect.Effect<void>): JournalCheckpoint.Persist =>
  (effect) =>
    // A disk that works, as disks do, costs nothing but this one look at the outcome.
    Effect.catch(effect, (error) => {
      let failure: typeof error | undefined = error
      return Effect.suspend(() => {
        const first = failure
        failure = undefined
        return first === undefined ? effect : Effect.fail(first)
      }).pipe(
        Effect.tapErrorTag("StorageError", ({ message }) => Effect.logError(`Turn ${turnId} is paused: ${message}`)),
        Effect.retry({ schedule: patience, while: ({ _tag }) => _tag === "StorageError" }),
        Effect.raceFirst(Effect.andThen(stopping, Effect.fail(goingDown))),
        Effect.mapError(({ message }) => new TurnStopped.TurnStopped({ message }))
      )
    })

/** What those hear who wait for a turn that its process lets go of. */
export const goingDown = new TurnStopped.TurnStopped({
  message: "This process lets the turn go; it goes on where it is taken up next."
})

/** Hands over an event that passes. */
export const live = (life: TurnLife.TurnLife, hub: Hub, event: TurnEvent.TransientEvent): void => {
  // A turn that is taken up again announces where it is. Clients get that once, and nothing of a wait that the gate has ended.
  if (event.type === "provider-retry" && life.state.pass !== undefined) return
  if (!hub.inProgress.isKnown(event)) hub.live(event)
}

/** Decides as the policy says, while the conversation's switch is on (P15). */
export const switched = <S extends Pick<RetryStrategy.RetryStrategy["Service"], "decide">>(
  strategy: S,
  policy: RetryPolicy.RetryPolicy,
  isEnabled: () => boolean
): S => ({
  ...strategy,
  decide: (attempt, failure, spent) =>
    isEnabled() ? strategy.decide(attempt, failure, spent) : { basis: Basis.switchedOff(policy, spent) }
})

// --- internal

const patience = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

const sinkOf = ({
  emitting,
  handover,
  journaled,
  life,
  resumption: { persisted, turn },
  session: { hub },
  store
}: Setting): EventSink.EventSink["Service"] => ({
  live: emitting((event) => live(life, hub, event)),
  persist: (events, position) => {
    const { conversationId, turnId } = turn
    if (events.some(({ type }, i) => type !== (persisted[position + i] ?? type))) return Effect.fail(diverged(turnId)) // R3
    if (position + events.length <= persisted.length)
      // Where the step has been announced the driver has repeated them, and what is in progress came behind them.
      return Effect.sync(() => void (handover?.begun?.announced !== undefined || hub.repeated(events))) // R4
    const persisting = Effect.flatMap(
      journaled.carrying(
        { conversationId, events, position },
        Effect.suspend(() => store.appendEvents(conversationId, turnId, events, position))
      ),
      (stored) => {
        // Another process may have written since this turn was read: that is no defect, and the turn is read again.
        if (stored.some(({ event }, i) => event.type !== events[i]?.type)) return Effect.fail(elsewhere(turnId)) // R3
        hub.persisted(stored)
        const warnings = events.flatMap(Warnings.of)
        return Effect.forEach(warnings, (warning) => Effect.logWarning(`Turn ${turnId}: ${warning}`), { discard: true })
      }
    )
    return Effect.catchDefect(persisting, (defect) => Effect.fail(TurnStopped.ofDefect(defect))) // C10
  },
  isPersisted: (position) => position < persisted.length
})

/** The turn does not repeat what it recorded: a defect, as the kernel is deterministic (C10). */
const diverged = (turnId: Ids.TurnId): TurnStopped.TurnStopped =>
  new TurnStopped.TurnStopped({
    message: `Turn ${turnId} diverged from its journal; what is on disk was left as it is.`,
    defect: true
  })

const elsewhere = (turnId: Ids.TurnId): TurnStopped.TurnStopped =>
  new TurnStopped.TurnStopped({ message: `Turn ${turnId} is being run elsewhere.` })

/** Up to here a wait stays in memory: leaving it and coming back costs a few reads of the disk. */
export const RESIDENT_MS = 5_000

const strategyOf = ({
  gates,
  isEnabled,
  life,
  policy,
  ports,
  session,
  sleepUntil
}: Setting): RetryStrategy.RetryStrategy["Service"] => {
  const { wait } = life
  const resume = () => session.hub.inProgress.resume()
  const held = (until: number) => session.hub.held(until)
  const asleep = (elapsed: Effect.Effect<void>, awaited: Awaited | undefined) =>
    Admission.heard(wait.sleep(elapsed, resume), life, awaited)
  const park = (retryAt: number) => Effect.fail(new TurnParked.TurnParked({ retryAt }))
  const sleep: RetryStrategies.Sleep = (delay, wanted) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const end = now + Duration.toMillis(delay)
      const awaited = wanted && Gates.awaited(gates, wanted)
      if (life.standsBy)
        return Effect.flatMap(wait.standBy(resume), () => {
          life.move(TurnLife.goOn)
          return wait.hasNews ? asleep(Effect.void, awaited) : park(end)
        })
      life.move(TurnLife.waitAt(awaited))
      if (Duration.toMillis(delay) > RESIDENT_MS && !wait.hasNews) return park(end)
      return asleep(Admission.awaits(life, sleepUntil(end), awaited, held), awaited)
    })
  return switched(RetryStrategies.make(policy, sleep, ports.countTokens), policy, isEnabled)
}
