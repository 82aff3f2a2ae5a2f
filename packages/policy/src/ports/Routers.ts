/** Makes the kernel's `Router` from a policy and a store of findings. */
import { type Directive, Router, type TurnStopped } from "@holdfast/kernel"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Routes from "../routing/Routes.ts"
import type { RetryPolicy } from "../decision/RetryPolicy.ts"
import * as Prospect from "../routing/Prospect.ts"
import * as Standing from "../routing/Standing.ts"

/** The store of what turns have found out, and the other facts of a router. What waits for nothing is best an `Exit`. */
export interface Ports extends Omit<Routes.Known, "standing"> {
  /** Loads the pauses in force at `now`, in epoch milliseconds. */
  readonly load: (now: number) => Effect.Effect<Standing.Standing, TurnStopped.TurnStopped>
  /** Stores the findings of a turn; storing them twice does no harm. */
  readonly note: (changes: Standing.Standing, now: number) => Effect.Effect<void, TurnStopped.TurnStopped>
  /** Whether a turn may retry: a person may have switched retries off meanwhile (P15). */
  readonly isEnabled?: () => boolean
}

/**
 * Makes a router that decides by the policy (`Routes`). The findings of a decision are stored before it is recorded (`Router`), and a success
 * only if it ends a pause that is known (C12): without failures nothing is written.
 */
export const make = (
  policy: RetryPolicy,
  { isEnabled = () => true, load, note, ...facts }: Ports
): Router.Router["Service"] => {
  const noted = (changes: Standing.Standing, now: number): Effect.Effect<void, TurnStopped.TurnStopped> =>
    Standing.isEmpty(changes) ? Effect.void : note(changes, now)
  return {
    begin: (question, now) =>
      Effect.mapEager(load(now), (standing) => Routes.begin(policy, question, { ...facts, standing }, now)),
    direct: (situation, question) => {
      const { now } = situation
      if (!isEnabled()) return Effect.succeed(Routes.switchedOff(policy, situation))
      return Effect.flatMapEager(load(now), (standing): Effect.Effect<Directive.Directive, TurnStopped.TurnStopped> => {
        const { changes, directive } = Routes.direct(policy, situation, question, { ...facts, standing })
        return Effect.mapEager(noted(changes, now), () => directive)
      })
    },
    answered: (route, began, now) =>
      Effect.flatMapEager(load(now), (standing) => noted(Prospect.cleared({ ...facts, standing }, route, began), now))
  }
}

/** Ports that know no facts and keep findings in memory. */
export const inMemory = () => {
  let standing = Standing.empty
  return {
    credentials: {},
    models: {},
    // Without a known window no tokens are counted.
    countTokens: () => 0,
    load: (now: number) => Effect.succeed((standing = Standing.expire(standing, now))),
    note: (changes: Standing.Standing) => {
      standing = Standing.merge(standing, changes)
      return Effect.void
    }
  } satisfies Ports
}

/** A router that keeps its findings in memory: all turns with this layer share cooldowns, which end with the process. */
export const layerMemory = (
  policy: RetryPolicy,
  facts: Partial<Omit<Routes.Known, "standing">> = {}
): Layer.Layer<Router.Router> => Layer.sync(Router.Router, () => make(policy, { ...inMemory(), ...facts }))
