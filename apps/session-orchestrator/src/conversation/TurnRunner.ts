/**
 * One turn on the service's own ports: the store hears it, the timer lets it sleep, the session's handles reach it.
 *
 * R1. An event is on disk before a client sees it. A disk that refuses pauses the turn, and does not lose it.
 * R2. The end of a sleep is absolute: `sleepUntil` gets a moment, not a duration.
 * R3. A turn that is run again and says something else than it has on disk is stopped, before anybody is told what is not
 *     there: the disk keeps what was first.
 */
import { Checkpoint, EventSink, Provider, RetryStrategy, Toolbox, Turn, TurnStopped } from "@holdfast/kernel"
import { Basis, type Profile, RetryStrategies } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import type { Ids, Message, Target, TurnEvent } from "@holdfast/wire"
import { Clock, Deferred, Duration, Effect, Layer, Schedule } from "effect"
import type { JournalConflict } from "../storage/Journal.ts"
import type { StorageError, Store, Turn as StoredTurn } from "../storage/Store.ts"
import type { Running, Session } from "./Session.ts"

/** What a turn needs to know of the conversation it is in. */
export interface Setting {
  readonly session: Session
  readonly running: Running
  readonly turn: StoredTurn
  readonly target: Target.Target
  readonly system: string | undefined
  readonly history: ReadonlyArray<Message.Message>
  readonly policy: ReturnType<typeof Profile.resolve>
  /** The conversation's switch (P15), as the store has it. */
  readonly autoRetryEnabled: boolean
  readonly provider: Provider.Provider["Service"]
}

/** What the service has for its turns. */
export interface Resources {
  readonly store: Store["Service"]
  readonly checkpoint: Checkpoint.Checkpoint["Service"]
  /** Waits for a moment in epoch milliseconds (D11). */
  readonly sleepUntil: (end: number) => Effect.Effect<void>
  /** Succeeds when the service goes down. */
  readonly stopping: Effect.Effect<void>
}

/** Runs a turn to its seal. Interrupted, it stops unsealed. An `Observer` comes with the context, where there is one. */
export const run = (
  setting: Setting,
  resources: Resources
): Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped> => {
  const { session, running, target, system, history, policy, provider } = setting
  const { turnId, conversationId, prompt, acceptedAt } = setting.turn
  return Turn.runTurn({
    conversationId,
    turnId,
    target,
    history,
    startedAt: acceptedAt,
    abort: Deferred.await(running.abort),
    ...(system === undefined ? undefined : { system }),
    ...(prompt === undefined ? undefined : { prompt })
  }).pipe(
    Effect.provide(
      Layer.mergeAll(
        Layer.succeed(Provider.Provider, Limits.withLimits(provider, policy.requestTimeout)),
        Layer.succeed(EventSink.EventSink, sinkOf(session, setting.turn, resources)),
        Layer.succeed(RetryStrategy.RetryStrategy, strategyOf(setting, resources)),
        Layer.succeed(Checkpoint.Checkpoint, resources.checkpoint),
        Toolbox.layerNoop
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
  effect.pipe(
    Effect.tapErrorTag("StorageError", ({ message }) => Effect.logError(`Turn ${turnId} is paused: ${message}`)),
    Effect.retry({ schedule: patience, while: ({ _tag }) => _tag === "StorageError" }),
    Effect.raceFirst(Effect.andThen(stopping, Effect.fail(goingDown))),
    Effect.mapError(({ message }) => new TurnStopped.TurnStopped({ message }))
  )

// --- internal

const patience = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

const goingDown = new TurnStopped.TurnStopped({
  message: "This process lets the turn go; it goes on where it is taken up next."
})

const sinkOf = (
  { hub }: Session,
  { conversationId, turnId }: StoredTurn,
  { store, stopping }: Resources
): EventSink.EventSink["Service"] => ({
  live: (event) => {
    // A turn that is taken up again tells of the wait that it is in; nobody needs to hear of it twice.
    const known = hub.inProgress.retry
    const isKnown = event.type === "provider-retry" && known?.turnId === event.turnId && known.retryAt === event.retryAt
    if (!isKnown) hub.live(event)
  },
  persist: (events, position) =>
    Effect.flatMap(
      untilItWorks(store.appendEvents(conversationId, turnId, events, position), turnId, stopping),
      (stored) => {
        if (stored.some(({ event }, i) => event.type !== events[i]?.type)) return Effect.fail(otherwise(turnId)) // R3
        hub.persisted(stored)
        return Effect.void
      }
    )
})

const otherwise = (turnId: Ids.TurnId): TurnStopped.TurnStopped =>
  new TurnStopped.TurnStopped({
    message: `Turn ${turnId} has gone on otherwise than it did before; what is on disk was left as it is.`
  })

/** Up to here a wait stays in memory: leaving it and coming back costs a few reads of the disk. */
export const RESIDENT_MS = 5_000

const strategyOf = (
  { autoRetryEnabled, policy, running, session }: Setting,
  { sleepUntil }: Resources
): RetryStrategy.RetryStrategy["Service"] => {
  const { wait } = running
  const strategy = RetryStrategies.make(policy, (delay) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const end = now + Duration.toMillis(delay)
      if (Duration.toMillis(delay) <= RESIDENT_MS || wait.hasNews) {
        return wait.sleep(sleepUntil(end), () => session.hub.inProgress.resume())
      }
      wait.open()
      running.parkedUntil = end
      return Effect.fail(new TurnStopped.TurnStopped({ message: "The turn waits on disk." }))
    })
  )
  const isEnabled = () => session.autoRetry ?? autoRetryEnabled
  return {
    ...strategy,
    delayFor: (attempt, failure, spent) => (isEnabled() ? strategy.delayFor(attempt, failure, spent) : undefined),
    basisFor: (attempt, failure, spent) =>
      isEnabled() ? Basis.of(policy, attempt, failure, spent) : Basis.switchedOff(policy, spent)
  }
}
