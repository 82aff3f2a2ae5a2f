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
import type { JournalConflict } from "../storage/Journal.ts"
import type { Resumption, StorageError, Store } from "../storage/Store.ts"
import * as Admission from "./Admission.ts"
import type { Awaited } from "./Gatekeeper.ts"
import * as Gates from "./Gates.ts"
import type { Running, Session } from "./Session.ts"
import type { TurnPorts } from "./TurnPorts.ts"
import * as Warnings from "./Warnings.ts"

/** What a turn needs to know of the conversation it is in. */
export interface Setting {
  readonly session: Session
  readonly running: Running
  /** What the store has of the turn and of its conversation. */
  readonly resumption: Resumption
  readonly target: Target.Target
  readonly policy: RetryPolicy.RetryPolicy
  /** Held to the limits of the policy, and through the gates. */
  readonly provider: Provider.Provider["Service"]
  readonly gates: Gates.Gates["Service"]
  readonly ports: TurnPorts
  readonly isEnabled: () => boolean
}

/** What the service has for its turns. */
export interface Resources {
  readonly store: Store["Service"]
  readonly checkpoint: Checkpoint.Checkpoint["Service"]
  /** What its tools are run by, once it is known which there are. */
  readonly toolbox: Toolbox.Toolbox["Service"]
  /** Waits for a moment in epoch milliseconds (D11). */
  readonly sleepUntil: (end: number) => Effect.Effect<void>
  /** Succeeds when the service goes down. */
  readonly stopping: Effect.Effect<void>
}

/** Runs a turn to its seal, or until it leaves memory to wait. Interrupted, it stops unsealed. An `Observer` comes with the context, where there is one. */
export const run = (
  setting: Setting,
  resources: Resources
): Effect.Effect<TurnEvent.TurnEnd, TurnParked.TurnParked | TurnStopped.TurnStopped> => {
  const { running, target, provider, ports } = setting
  const { compactor, limits, report, router } = ports
  const { turn, conversation, history } = setting.resumption
  const { turnId, conversationId, prompt, acceptedAt } = turn
  const { system } = conversation
  return Turn.runTurn({
    conversationId,
    turnId,
    target,
    history,
    startedAt: acceptedAt,
    abort: Deferred.await(running.abort),
    ...(limits === undefined ? undefined : { limits }),
    ...(system === undefined ? undefined : { system }),
    ...(prompt === undefined ? undefined : { prompt })
  }).pipe(
    // A context, not layers: nothing here has to be built, and ten thousand turns come by.
    Effect.provideContext(
      Context.make(Provider.Provider, provider).pipe(
        Context.add(EventSink.EventSink, sinkOf(setting, resources)),
        Context.add(RetryStrategy.RetryStrategy, strategyOf(setting, resources)),
        Context.add(Checkpoint.Checkpoint, resources.checkpoint),
        Context.add(Toolbox.Toolbox, resources.toolbox),
        Context.add(Compactor.Compactor, compactor),
        router === undefined ? identity : Context.add(Router.Router, router),
        report === undefined ? identity : Context.add(FinalReport.FinalReport, report)
      )
    )
  )
}

/**
 * A full disk is emptied by a person, so a turn keeps asking: after 1 s, 2 s, 4 s … and then every 30 s. It stops, unsealed,
 * only with the service.
 */
export const untilItWorks = <A>(
  effect: Effect.Effect<A, StorageError | JournalConflict>,
  turnId: Ids.TurnId,
  stopping: Effect.Effect<void>
): Effect.Effect<A, TurnStopped.TurnStopped> =>
  // A disk that works, as disks do, costs nothing but this one look at the outcome.
  Effect.catch(effect, (error) => {
    let failure: StorageError | JournalConflict | undefined = error
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

// --- internal

const patience = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

const sinkOf = (
  { resumption: { persisted, turn }, running, session: { hub } }: Setting,
  { store, stopping }: Resources
): EventSink.EventSink["Service"] => ({
  live: (event) => {
    // A turn that is taken up again tells where it is; nobody needs to hear of it twice, nor of a wait that the gate has ended.
    if (event.type === "provider-retry" && running.pass !== undefined) return
    if (!hub.inProgress.isKnown(event)) hub.live(event)
  },
  persist: (events, position) => {
    const { conversationId, turnId } = turn
    if (events.some(({ type }, i) => type !== (persisted[position + i] ?? type))) return Effect.fail(diverged(turnId)) // R3
    if (position + events.length <= persisted.length) return Effect.sync(() => hub.repeated(events)) // R4
    const persisting = Effect.flatMap(
      untilItWorks(
        Effect.suspend(() => store.appendEvents(conversationId, turnId, events, position)),
        turnId,
        stopping
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

const strategyOf = (
  { gates, isEnabled, policy, ports, running, session }: Setting,
  { sleepUntil }: Resources
): RetryStrategy.RetryStrategy["Service"] => {
  const { wait } = running
  const resume = () => session.hub.inProgress.resume()
  const park = (retryAt: number) => Effect.fail(new TurnParked.TurnParked({ retryAt }))
  /** It is parked all the same: whoever calls it, or sends it away, rings. */
  const standBy = (until: number, awaited: Awaited | undefined) => {
    running.ahead?.ready()
    return Effect.flatMap(wait.standBy(resume), () => {
      running.isOutside = false
      return wait.hasNews ? Admission.heard(wait.sleep(Effect.void, resume), running, awaited) : park(until)
    })
  }
  const sleep: RetryStrategies.Sleep = (delay, wanted) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const end = now + Duration.toMillis(delay)
      const awaited = wanted && Gates.awaited(gates, wanted)
      running.awaited = awaited
      if (running.ahead !== undefined || running.isOutside) return standBy(end, awaited)
      if (Duration.toMillis(delay) <= RESIDENT_MS || wait.hasNews) {
        const held = (until: number) => session.hub.held(until)
        return Admission.heard(
          wait.sleep(Admission.awaits(running, sleepUntil(end), awaited, held), resume),
          running,
          awaited
        )
      }
      return park(end)
    })
  const strategy = RetryStrategies.make(policy, sleep, ports.countTokens)
  return {
    ...strategy,
    decide: (attempt, failure, spent) =>
      isEnabled() ? strategy.decide(attempt, failure, spent) : { basis: Basis.switchedOff(policy, spent) }
  }
}
