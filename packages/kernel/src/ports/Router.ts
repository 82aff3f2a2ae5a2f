/**
 * The port to routing: chooses the target and the credential of the next attempt.
 *
 * Without this service every attempt of a turn goes to the turn's own target. With it, the router decides about a failure, including the
 * wait (A1). It is asked inside the checkpoint of the decision, so its decision is recorded before it takes effect, and a turn that runs
 * again takes the same route.
 *
 * - A router may read the findings of other turns (a target cooling down, a credential used up) and report its own. Reporting the
 *   same finding twice must do no harm, because a decision or an attempt whose record was lost is made again.
 * - An answer that waits for nothing is best an `Exit`: hosts need no fiber for it.
 * - It is not asked about a failure that no route can help: after content (D4), a context that is too long (P2), a bug that has
 *   come three times (C10).
 */
import type { Message, Target } from "@holdfast/wire"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Situation } from "../turn/Directive.ts"
import type { Beginning, Directive } from "../records/Records.ts"
import type { Route } from "../records/Route.ts"
import type { ToolDefinition } from "./Toolbox.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** The facts for a router, besides a failure. */
export interface Question {
  /** The turn's own target: that of the conversation, or the one to which a person switched (X4). */
  readonly primary: Target.Target
  /** The route of this turn's last attempt; absent before its first. */
  readonly current: Route | undefined
  /** The `state` of the router's last decision within this step; absent before it, and if a person has chosen the target since. */
  readonly state: Schema.Json | undefined
  /** The request of the next attempt: a target that does not support it is skipped. */
  readonly request: {
    readonly system: string | undefined
    readonly messages: ReadonlyArray<Message.Message>
    readonly tools: ReadonlyArray<ToolDefinition>
  }
}

export { Beginning } from "../records/Records.ts"

/** Chooses the target and the credential of attempts. */
export class Router extends Context.Service<
  Router,
  {
    /** Chooses the route of a step's first attempt (P9), at a moment in epoch milliseconds. */
    readonly begin: (question: Question, now: number) => Effect.Effect<Beginning, TurnStopped>
    /** Decides about a failure. `situation` has the facts that a strategy alone would receive. */
    readonly direct: (situation: Situation, question: Question) => Effect.Effect<Directive, TurnStopped>
    /**
     * Called when a call on a route has succeeded, before its outcome is recorded; the call began at `began`, in epoch milliseconds. Older
     * pauses of the route end with it (C12). Absent: this router keeps no findings.
     */
    readonly answered?: (route: Route, began: number, now: number) => Effect.Effect<void, TurnStopped>
  }
>()("@holdfast/kernel/Router") {}
