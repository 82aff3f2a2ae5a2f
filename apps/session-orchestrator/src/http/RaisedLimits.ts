/** Raises limits of spending, and has the turns go on that ask about them (rule X11): by a command, and when a person has answered one of them. */
import type { TurnEvent } from "@holdfast/wire"
import { Context, Effect, Layer, Stream } from "effect"
import { isDeepStrictEqual } from "node:util"
import { InvalidRequest } from "../engine/conversation/Conversations.ts"
import type { Defaults } from "../engine/conversation/Defaults.ts"
import { TurnLists } from "../insight/inspection/TurnLists.ts"
import type { Lists } from "../storage/Lists.ts"
import type { TurnLog } from "../storage/TurnLog.ts"
import type * as Spending from "../engine/spend/Spending.ts"
import * as TurnServices from "../engine/turn/TurnServices.ts"
import { BulkRun } from "./BulkRun.ts"

/** Raises limits. */
export class RaisedLimits extends Context.Service<
  RaisedLimits,
  {
    /** A limit is raised when this succeeds, over restarts and for all runners. The turns that ask about it go on then. */
    readonly raise: Spending.Spending["raise"]
  }
>()("@holdfast/session-orchestrator/http/RaisedLimits") {}

/** Over the limits and the turns of the service. */
export const layer: Layer.Layer<RaisedLimits, never, BulkRun | Defaults | Lists | TurnLists | TurnLog> = Layer.effect(
  RaisedLimits,
  Effect.gen(function* () {
    const spending = yield* TurnServices.limits
    if (spending === undefined)
      return { raise: () => Effect.fail(new InvalidRequest({ message: "The configuration has no limits (spend)." })) }
    const bulk = yield* BulkRun
    const lists = yield* TurnLists
    const goOn = Effect.fnUntraced(function* (name: TurnEvent.LimitName) {
      let cursor: string | undefined
      do {
        const { next, turns } = yield* lists.turns({ status: "waiting" }, { limit: AT_ONCE, cursor })
        const asking = turns.filter(({ wait }) => isDeepStrictEqual(wait?.asks?.raises, name))
        const turnIds = asking.map(({ turnId }) => turnId)
        if (turnIds.length > 0) yield* bulk.run({ command: { type: "retry-now" }, filter: { turnIds } }, ORIGIN)
        cursor = next
      } while (cursor !== undefined)
    })
    yield* Effect.forkScoped(
      Stream.runForEach(spending.raised, (name) =>
        Effect.catch(goOn(name), ({ message }) =>
          Effect.logWarning(`Turns that ask about a limit that is raised wait for an answer: ${message}`)
        )
      )
    )
    return { raise: spending.raise }
  })
)

// --- internal

/** As the record of a command names it (rule X4). */
const ORIGIN = "a limit that was raised"

/** Turns that go on together. */
const AT_ONCE = 100
