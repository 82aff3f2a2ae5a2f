/**
 * The port to routing: which target, and which of a provider's credentials, the next attempt goes to.
 *
 * Without this service every attempt of a turn goes to the turn's own target. With it, the decision about a failure is the
 * router's, wait and all (A1): it is asked inside the checkpoint of the decision, so its answer is recorded before anybody
 * acts on it, and a turn that is run again goes where it went.
 *
 * U1. A router may read what others have found out (a target cooling down, a credential used up) and tell them what it has;
 *     telling the same again must do no harm, because a decision whose record was lost is made again.
 *     The same goes for a success: an attempt whose record was lost is made again.
 * U2. It is not asked about what no route can mend: content that has been seen (D4), a context that is too long (P2), a bug
 *     that has come three times (C10).
 */
import type { Message, Target } from "@holdfast/wire"
import { Context, type Effect, type Schema } from "effect"
import type { Situation } from "./Directive.ts"
import type { Beginning, Directive } from "./Records.ts"
import type { Route } from "./Route.ts"
import type { ToolDefinition } from "./Toolbox.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** What a router is asked about, besides a failure. */
export interface Question {
  /** The turn's own target: the conversation's, or what a person switched to (X4). */
  readonly primary: Target.Target
  /** Where the last attempt of this turn went; absent before its first. */
  readonly current: Route | undefined
  /** The `state` of the router's last answer within this step; absent before, and where a person has chosen the target since. */
  readonly state: Schema.Json | undefined
  /** What the next attempt would send: a target that cannot take it is passed over. */
  readonly request: {
    readonly system: string | undefined
    readonly messages: ReadonlyArray<Message.Message>
    readonly tools: ReadonlyArray<ToolDefinition>
  }
}

export { Beginning } from "./Records.ts"

/** Chooses the target and the credential of attempts. */
export class Router extends Context.Service<
  Router,
  {
    /** Chooses where a step begins (P9). */
    readonly begin: (question: Question) => Effect.Effect<Beginning, TurnStopped>
    /** Decides about a failure. `situation` is what the strategy alone would have been asked. */
    readonly direct: (situation: Situation, question: Question) => Effect.Effect<Directive, TurnStopped>
    /**
     * Hears that a call on a route has succeeded that began at `began`, in epoch milliseconds, before that is recorded: what was
     * found out about the route until then is over (C12). Absent: nobody keeps it.
     */
    readonly answered?: (route: Route, began: number) => Effect.Effect<void, TurnStopped>
  }
>()("@holdfast/kernel/Router") {}
