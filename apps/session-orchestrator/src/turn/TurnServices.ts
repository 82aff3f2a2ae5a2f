/** Collects the services that turns run on, and retries writes that the disk refuses. */
import { Interruptions, type JournalCheckpoint, ProcessName, Timer } from "@holdfast/journal"
import { Observer, TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Clock, Deferred, Effect, Option, Random, Schedule } from "effect"
import { Journal } from "../storage/EventJournal.ts"
import { Standings } from "../storage/Standings.ts"
import { Lists } from "../storage/Lists.ts"
import { Store } from "../storage/Store.ts"
import { Defaults } from "../conversation/Defaults.ts"
import { Gates } from "../gate/Gates.ts"
import { Ownership } from "./Ownership.ts"
import { Providers } from "../conversation/Providers.ts"
import { Quarantine } from "../pacing/Quarantine.ts"
import type { Sessions } from "../session/Sessions.ts"
import { Tools } from "../conversation/Tools.ts"
import * as Spending from "../spend/Spending.ts"
import * as TurnPlan from "./TurnPlan.ts"

/** The services that the turns of this process share. */
export type TurnServices = Effect.Success<ReturnType<typeof collect>>

/** The listeners of turns, with the limits of spending among them. */
export const observers = Effect.gen(function* () {
  const { spend } = yield* Defaults
  const observer = Option.getOrUndefined(yield* Effect.serviceOption(Observer.Observer))
  if (spend === undefined) return { observer, spending: undefined }
  // A service whose storage cannot be read does not start.
  const spending = yield* Effect.orDie(Spending.shared(spend, { journal: yield* Journal, lists: yield* Lists }))
  return { observer: Observer.all([spending.listeners, ...(observer === undefined ? [] : [observer])]), spending }
})

/** Collects the services. `down` is done when the service shuts down. */
export const collect = Effect.fnUntraced(function* (sessions: Sessions, down: Deferred.Deferred<void>) {
  const defaults = yield* Defaults
  const journal = yield* Journal
  const providers = yield* Providers
  const { observer, spending } = yield* observers
  return {
    sessions,
    isStopping: () => Deferred.isDoneUnsafe(down),
    patiently: (turnId: Ids.TurnId) => retryingWrites(turnId, Deferred.await(down)),
    /** The name of this process. */
    life: yield* ProcessName.ProcessName,
    clock: yield* Clock.Clock,
    chance: yield* Random.Random,
    observer,
    spending,
    timer: yield* Timer.Timer,
    store: yield* Store,
    journal,
    interruptions: yield* Interruptions.Interruptions,
    quarantine: yield* Quarantine,
    ownership: yield* Ownership,
    providers,
    plans: TurnPlan.make(providers, defaults),
    gates: yield* Gates,
    tools: yield* Tools,
    defaults,
    standings: yield* Standings
  }
})

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

// --- internal

const patience = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])
