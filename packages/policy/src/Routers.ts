/** Policies as the kernel's `Router` takes them: pure decisions (`Routes`), and what is known of targets and keys from a store. */
import { type Directive, type Route, Router, type TurnStopped } from "@holdfast/kernel"
import { Clock, Effect, Layer } from "effect"
import * as Routes from "./Routes.ts"
import type { RetryPolicy } from "./RetryPolicy.ts"
import * as Prospect from "./routing/Prospect.ts"
import * as Standing from "./routing/Standing.ts"

/** What all turns have found out, and the rest that a router knows. */
export interface Ports extends Omit<Routes.Known, "standing"> {
  /** What is in force at a moment in epoch milliseconds. */
  readonly load: (now: number) => Effect.Effect<Standing.Standing, TurnStopped.TurnStopped>
  /** Adds what a turn has found out at a moment; adding it twice does no harm. */
  readonly note: (changes: Standing.Standing, now: number) => Effect.Effect<void, TurnStopped.TurnStopped>
  /** Whether a turn may retry at all, as somebody may have switched that off meanwhile (P15). */
  readonly isEnabled?: () => boolean
}

/**
 * A router that decides as the policy says. What a decision has found out is stored before it is recorded (U1 of the port).
 *
 * **Details**
 *
 * A success is stored only where it ends a pause that this router knows of (C12): where nothing fails, nothing is written, and
 * nothing is read to find that out.
 */
export const make = (policy: RetryPolicy, ports: Ports): Router.Router["Service"] => {
  const { credentials, countTokens, isEnabled = () => true, load, models, note } = ports
  let known = Standing.empty
  const knownAt = (now: number): Effect.Effect<Routes.Known, TurnStopped.TurnStopped> =>
    Effect.map(load(now), (standing) => {
      known = standing
      return { standing, credentials, models, countTokens }
    })
  const noted = (changes: Standing.Standing, now: number): Effect.Effect<void, TurnStopped.TurnStopped> => {
    if (Standing.isEmpty(changes)) return Effect.void
    known = Standing.merge(known, changes)
    return note(changes, now)
  }
  const answered = (route: Route.Route, began: number): Effect.Effect<void, TurnStopped.TurnStopped> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      noted(Prospect.cleared({ credentials, standing: Standing.expire(known, now) }, route, began), now)
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

/** What an embedder can say of its providers and models; nothing has to be said. */
export type Options = Partial<Omit<Routes.Known, "standing">>

/**
 * The router of programs that keep what is found out in memory: cooldowns are shared by all turns that are given this layer, and
 * gone with the process.
 */
export const layerMemory = (policy: RetryPolicy, options: Options = {}): Layer.Layer<Router.Router> =>
  Layer.sync(Router.Router, () => {
    let standing = Standing.empty
    return make(policy, {
      credentials: options.credentials ?? {},
      models: options.models ?? {},
      // Nothing is counted where no window is known; whoever names one can count.
      countTokens: options.countTokens ?? (() => 0),
      load: (now) => Effect.sync(() => (standing = Standing.expire(standing, now))),
      note: (changes) => Effect.sync(() => void (standing = Standing.merge(standing, changes)))
    })
  })
