/** Collects the services that turns run on. */
import { Interruptions, ProcessName, Timer } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Clock, Deferred, Effect, Option, Random } from "effect"
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
import * as TurnRunner from "./TurnRunner.ts"

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
  const ownership = yield* Ownership
  const { observer, spending } = yield* observers
  return {
    sessions,
    isStopping: Deferred.isDone(down),
    patiently: (turnId: Ids.TurnId) => {
      const { lost } = ownership
      const stopping = lost === undefined ? Deferred.await(down) : Effect.raceFirst(Deferred.await(down), lost(turnId))
      return TurnRunner.retryingWrites(turnId, stopping)
    },
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
    ownership,
    providers,
    plans: TurnPlan.make(providers, defaults),
    gates: yield* Gates,
    tools: yield* Tools,
    defaults,
    standings: yield* Standings
  }
})
