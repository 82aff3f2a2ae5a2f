/**
 * Decides for one turn of a dry run, by the functions of the service: routing, policy, and the question of a spend guard.
 *
 * DryDecisions.D1. The pauses that turns find are shared at once, and a turn's success ends those that its router had read (`Routers.make`);
 *     a turn that left memory to wait has a new router.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import { Directive, type Machine, type Records, type Route } from "@holdfast/kernel"
import { type Models, Prospect, type RetryPolicy, RetryStrategies, Routes, Standing } from "@holdfast/policy"
import { defined, Failure } from "@holdfast/wire"
import * as Spending from "../spend/Spending.ts"
import * as TurnRunner from "../turn/TurnRunner.ts"

/** The command of a kind. */
export type CommandOf<Tag extends Machine.Command["_tag"]> = Extract<Machine.Command, { readonly _tag: Tag }>

/** What the decisions of all turns share. */
export interface Shared extends Omit<Routes.Known, "standing"> {
  readonly policy: RetryPolicy.RetryPolicy
  readonly countTokens: Models.CountTokens
  /** The pauses that turns have found so far. */
  readonly standing: { current: Standing.Standing }
}

/** The decisions of one turn. Times are in epoch milliseconds. */
export class DryDecisions {
  private readonly shared: Shared
  private readonly strategy: RetryStrategy.RetryStrategy["Service"]
  /** The pauses that its router has read last; absent: none yet. */
  private known: Standing.Standing | undefined = undefined

  constructor(shared: Shared) {
    this.shared = shared
    this.strategy = RetryStrategies.make(shared.policy, RetryStrategies.sleepInMemory, shared.countTokens)
  }

  /** Chooses the route of a step's first attempt; `present` is the turn's own. */
  begin({ from, question }: CommandOf<"Route">, present: Route.Route, now: number): Records.Beginning {
    const { policy } = this.shared
    const chosen = question === undefined ? { route: present } : Routes.begin(policy, question, this.read(now), now)
    return { ...chosen, ...defined({ from }) }
  }

  /** Decides about a failure. */
  decide({ question, ...command }: CommandOf<"Decide">, now: number): Directive.Directive {
    const { policy } = this.shared
    const situation = { ...command.situation, now }
    const directive = ((): Directive.Directive => {
      if (question === undefined || Failure.isOfSpendLimit(situation.failure)) {
        const strategy = TurnRunner.switched(this.strategy, policy, () => policy.enabled)
        return Directive.decide(situation, Spending.deciding(strategy))
      }
      if (!policy.enabled) return Routes.switchedOff(policy, situation)
      const { changes, directive } = Routes.direct(policy, situation, question, this.read(now))
      this.note(changes)
      return directive
    })()
    return Directive.marked(directive, situation)
  }

  /** A call on a route has succeeded; it began at `began`. */
  answered(route: Route.Route, began: number, now: number): void {
    const { credentials, standing } = this.shared
    const known = Standing.expire(this.known ?? standing.current, now)
    this.note(Prospect.cleared({ credentials, standing: known }, route, began))
  }

  /** What follows a failure after content (X7). */
  get midStream(): RetryStrategy.RetryStrategy["Service"]["midStream"] {
    return this.strategy.midStream
  }

  /** Whether the content of a failure is void because no client has received it (X7): no client watches a dry run. */
  isUnseen(failure: Failure.Failure): boolean {
    return Directive.isOfTransport(failure) && this.midStream?.(failure) === "unseen"
  }

  /** The question to a person at the end of a wait (X11); `undefined`: none. */
  ask({ awaited, outlook }: CommandOf<"Wait">, now: number): RetryStrategy.Question | undefined {
    return outlook && this.strategy.ask?.(outlook(Math.max(0, now - awaited.since)))
  }

  /** The turn leaves memory. */
  parked(): void {
    this.known = undefined
  }

  private read(now: number): Routes.Known {
    const { countTokens, credentials, models, standing } = this.shared
    const known = Standing.expire(standing.current, now)
    this.known = known
    return { standing: known, credentials, models, countTokens }
  }

  private note(changes: Standing.Standing): void {
    if (Standing.isEmpty(changes)) return
    const { standing } = this.shared
    this.known = Standing.merge(this.known ?? Standing.empty, changes)
    standing.current = Standing.merge(standing.current, changes)
  }
}
