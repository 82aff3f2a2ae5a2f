/**
 * A pull that can push: it calls a function with its next values, without a fiber.
 *
 * A fiber that waits for each read costs more than the read. So a pull of deltas carries a push (`attach`), and a consumer uses it while
 * nothing but deltas comes. The end, a failure, and what has to wait are pulled, so content has one path.
 *
 * Push.P1. `take` gets what the pull would have given next, in its order. Nothing is lost or repeated between pulling and pushing.
 * Push.P2. A push ends when `take` returns false, when it calls `over`, or when it is stopped. What follows is pulled. `over` is called
 *     at most once, and not behind a false. It may be called before the push returns.
 * Push.P3. It is found anew before each use, and only while no pull is under way.
 */
import { Channel, Effect, type Pull, Scope, Stream } from "effect"

/** Calls `take` with each value until that returns false, and returns what stops it. */
export type Push<A> = (take: (value: A) => boolean, over: () => void) => () => void

/** A pull that carries its push. `find` returns `undefined` while the next value has to be pulled. */
export const attach = <A, E, Done>(
  pull: Pull.Pull<A, E, Done>,
  find: () => Push<A> | undefined
): Pull.Pull<A, E, Done> => Object.assign(pull, { [PUSH]: find })

/** The push of a pull, where it has one now. */
export const of = <A, E, Done>(pull: Pull.Pull<A, E, Done>): Push<A> | undefined =>
  isPushing(pull) ? pull[PUSH]() : undefined

/** A pull that was made from `source` by `f`, which returns `undefined` for what is left out: so is its push. */
export const through = <A, B, E, Done>(
  pull: Pull.Pull<B, E, Done>,
  source: Pull.Pull<A, unknown, unknown>,
  f: (value: A) => B | undefined
): Pull.Pull<B, E, Done> =>
  attach(pull, () => {
    const push = of(source)
    if (push === undefined) return undefined
    return (take, over) =>
      push((value) => {
        const next = f(value)
        return next === undefined || take(next)
      }, over)
  })

/**
 * Calls `act` with each value of a pull, until that ends. `act` returns what has to run before the next value, if anything.
 *
 * **Gotchas**
 *
 * A value that is pushed is taken outside the fiber. What `act` throws there is a defect of the fiber, as elsewhere.
 */
export const forEach = <A, E, Done, E2 = never>(
  pull: Pull.Pull<A, E, Done>,
  act: (value: A) => Effect.Effect<void, E2> | undefined
): Pull.Pull<never, E | E2, Done> => {
  const pulled: Pull.Pull<never, E | E2, Done> = Effect.flatMap(pull, (value) => {
    const first = act(value)
    return first === undefined ? next : Effect.andThen(first, next)
  })
  const next: Pull.Pull<never, E | E2, Done> = isPushing(pull)
    ? Effect.suspend(() => {
        const push = of(pull)
        return push === undefined ? pulled : Effect.flatMap(pushed(push, act), (isOver) => (isOver ? pulled : next))
      })
    : pulled
  return pulled
}

/** `Stream.unwrap`, whose pull is the pull of the inner stream. The effect runs when the pull is made, and not with the first value. */
export const unwrap = <A, E, E2>(
  stream: Effect.Effect<Stream.Stream<A, E>, E2, Scope.Scope>
): Stream.Stream<A, E | E2> =>
  Stream.fromChannel(
    Channel.fromTransform((_upstream, scope) =>
      Effect.flatMap(Scope.provide(stream, scope), (inner) => Channel.toPullScoped(Stream.toChannel(inner), scope))
    )
  )

// --- internal

const PUSH: unique symbol = Symbol("@holdfast/kernel/Push")

interface Pushing<A> {
  readonly [PUSH]: () => Push<A> | undefined
}

const isPushing = <A>(pull: Pull.Pull<A, unknown, unknown>): pull is Pull.Pull<A, unknown, unknown> & Pushing<A> =>
  PUSH in pull

/** Takes values as long as none has to wait. Succeeds with whether the next one has to be pulled. */
const pushed = <A, E>(
  push: Push<A>,
  act: (value: A) => Effect.Effect<void, E> | undefined
): Effect.Effect<boolean, E> =>
  Effect.callback((resume) => {
    const stop = push(
      (value) => {
        const first = acted(act, value)
        if (first === undefined) return true
        resume(Effect.as(first, false))
        return false
      },
      () => resume(Effect.succeed(true))
    )
    return Effect.sync(stop)
  })

const acted = <A, E>(act: (value: A) => Effect.Effect<void, E> | undefined, value: A) => {
  try {
    return act(value)
  } catch (defect) {
    return Effect.die(defect)
  }
}
