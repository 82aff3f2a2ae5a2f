/** Collects the services that turns run on, and retries writes that the disk refuses. */
import { Interruptions, type Journal as Port, ProcessName, type StorageError, Timer } from "@holdfast/journal"
import { Observer, TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Clock, Deferred, Effect, Option, Random, Schedule } from "effect"
import { TurnLog } from "../../storage/TurnLog.ts"
import { Standings } from "../../storage/Standings.ts"
import { Lists } from "../../storage/Lists.ts"
import { SpendRaises } from "../../storage/SpendRaises.ts"
import { Store } from "../../storage/Store.ts"
import { Defaults } from "../conversation/Defaults.ts"
import { Gates } from "../gate/Gates.ts"
import { Providers } from "../conversation/Providers.ts"
import { Quarantine } from "../pacing/Quarantine.ts"
import type { Sessions } from "../session/Session.ts"
import { Tools } from "../conversation/Tools.ts"
import { AnsweredCalls } from "../../storage/AnsweredCalls.ts"
import * as Spending from "../spend/Spending.ts"
import { Ownership } from "./Ownership.ts"
import * as TurnPlan from "./TurnPlan.ts"

/** The services that the turns of this process share. */
export type TurnServices = Effect.Success<ReturnType<typeof collect>>

/** The limits of spending; `undefined`: there are none. */
export const limits = Effect.gen(function* () {
  const { spend } = yield* Defaults
  if (spend === undefined) return undefined
  // A service whose storage cannot be read does not start.
  const answered = Option.getOrUndefined(yield* Effect.serviceOption(AnsweredCalls))
  const raises = Option.getOrUndefined(yield* Effect.serviceOption(SpendRaises))
  const sources = { log: yield* TurnLog, lists: yield* Lists, answered, raises }
  return yield* Effect.orDie(Spending.shared(spend, sources))
})

/** Collects the services. `down` is done when the service shuts down. */
export const collect = Effect.fnUntraced(function* (sessions: Sessions, down: Deferred.Deferred<void>) {
  const defaults = yield* Defaults
  const log = yield* TurnLog
  const providers = yield* Providers
  const telemetry = Option.getOrUndefined(yield* Effect.serviceOption(Observer.Observer))
  const spending = yield* limits
  const observer = Observer.all([spending?.listeners, telemetry].filter((listeners) => listeners !== undefined))
  return {
    sessions,
    isStopping: () => Deferred.isDoneUnsafe(down),
    patiently: (turnId: Ids.TurnId) => retryingWrites(turnId, Deferred.await(down)),
    /** The name of this process. */
    life: yield* ProcessName.ProcessName,
    clock: yield* Clock.Clock,
    chance: yield* Random.Random,
    /** The listeners of turns, with the limits of spending among them. */
    observer: spending === undefined ? telemetry : observer,
    spending,
    /** The listeners without the limits of spending. */
    telemetry,
    timer: yield* Timer.Timer,
    store: yield* Store,
    log,
    interruptions: yield* Interruptions.Interruptions,
    quarantine: yield* Quarantine,
    ownership: yield* Ownership,
    providers,
    plans: TurnPlan.make(providers),
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
  (turnId: Ids.TurnId, stopping: Effect.Effect<void>) =>
  <A>(
    effect: Effect.Effect<A, Port.AppendError | TurnStopped.TurnStopped>,
    /** The disk has refused it before. */
    refused?: StorageError
  ): Effect.Effect<A, TurnStopped.TurnStopped> => {
    const after = (error: Port.AppendError | TurnStopped.TurnStopped): Effect.Effect<A, TurnStopped.TurnStopped> => {
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
    }
    // A working disk costs nothing but this one look at the outcome.
    return refused === undefined ? Effect.catchEager(effect, after) : after(refused)
  }

/** The error of callers that wait for a turn when its process releases it. */
export const shuttingDown = new TurnStopped.TurnStopped({
  message: "This process releases the turn; it continues in the process that takes it up next."
})

// --- internal

const patience = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])
