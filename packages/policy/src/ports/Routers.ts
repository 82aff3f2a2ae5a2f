/** Makes the kernel's `Router` from a policy and a store of findings. */
import { type Directive, type Route, Router, type TurnStopped } from "@holdfast/kernel"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Routes from "../routing/Routes.ts"
import type { RetryPolicy } from "../decision/RetryPolicy.ts"
import * as Prospect from "../routing/Prospect.ts"
import * as Standing from "../routing/Standing.ts"

/** The store of what turns have found out, and the other facts of a router. */
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
export const make = (policy: RetryPolicy, ports: Ports): Router.Router["Service"] => {
  const { credentials, countTokens, isEnabled = () => true, load, models, note } = ports
  const knownAt = (now: number): Effect.Effect<Routes.Known, TurnStopped.TurnStopped> =>
    Effect.map(load(now), (standing) => ({ standing, credentials, models, countTokens }))
  const noted = (changes: Standing.Standing, now: number): Effect.Effect<void, TurnStopped.TurnStopped> =>
    Standing.isEmpty(changes) ? Effect.void : note(changes, now)
  const answered = (route: Route.Route, began: number): Effect.Effect<void, TurnStopped.TurnStopped> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.flatMap(knownAt(now), (known) => noted(Prospect.cleared(known, route, began), now))
    )
  return {
    begin: (question) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.map(knownAt(now), (known) => Routes.begin(policy, question, known, now))
      ),
    direct: (situation, question) => {
      const { now } = situation
      if (!isEnabled()) return Effect.succeed(Routes.switchedOff(policy, situation))
      return Effect.flatMap(knownAt(now), (known): Effect.Effect<Directive.Directive, TurnStopped.TurnStopped> => {
        const { changes, directive } = Routes.direct(policy, situation, question, known)
        return Effect.as(noted(changes, now), directive)
      })
    },
    answered
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
    load: (now: number) => Effect.sync(() => (standing = Standing.expire(standing, now))),
    note: (changes: Standing.Standing) => Effect.sync(() => void (standing = Standing.merge(standing, changes)))
  } satisfies Ports
}

/** A router that keeps its findings in memory: all turns with this layer share cooldowns, which end with the process. */
export const layerMemory = (
  policy: RetryPolicy,
  facts: Partial<Omit<Routes.Known, "standing">> = {}
): Layer.Layer<Router.Router> => Layer.sync(Router.Router, () => make(policy, { ...inMemory(), ...facts }))
