/** Collects the services that turns run on. */
import { Interruptions, ProcessName, Timer } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Clock, Deferred, Effect, Option, Random } from "effect"
import { Journal } from "../storage/EventJournal.ts"
import { Standings } from "../storage/Standings.ts"
import { Store } from "../storage/Store.ts"
import { Defaults } from "../conversation/Defaults.ts"
import { Gates } from "../gate/Gates.ts"
import { ParkingPlace } from "./ParkingPlace.ts"
import { Providers } from "../conversation/Providers.ts"
import { Quarantine } from "../pacing/Quarantine.ts"
import { RightOfWay } from "../pacing/RightOfWay.ts"
import type { Sessions } from "../session/Sessions.ts"
import { Tools } from "../conversation/Tools.ts"
import * as TurnRunner from "./TurnRunner.ts"

/** The services that the turns of this process share. */
export type TurnServices = Effect.Success<ReturnType<typeof collect>>

/** Collects the services. `down` is done when the service shuts down. */
export const collect = Effect.fnUntraced(function* (sessions: Sessions, down: Deferred.Deferred<void>) {
  return {
    sessions,
    isStopping: Deferred.isDone(down),
    patiently: (turnId: Ids.TurnId) => TurnRunner.retryingWrites(turnId, Deferred.await(down)),
    /** The name of this process. */
    life: yield* ProcessName.ProcessName,
    clock: yield* Clock.Clock,
    chance: yield* Random.Random,
    observer: Option.getOrUndefined(yield* Effect.serviceOption(Observer.Observer)),
    timer: yield* Timer.Timer,
    store: yield* Store,
    journal: yield* Journal,
    interruptions: yield* Interruptions.Interruptions,
    quarantine: yield* Quarantine,
    place: yield* ParkingPlace,
    rightOfWay: yield* RightOfWay,
    providers: yield* Providers,
    gates: yield* Gates,
    tools: yield* Tools,
    defaults: yield* Defaults,
    standings: yield* Standings
  }
})
