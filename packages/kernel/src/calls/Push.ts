/**
 * Lets a pull push: it calls a function with its next values, without a fiber.
 *
 * Resuming a fiber for each read costs more than the read. A pull of deltas therefore carries a push (`attach`), and its consumer uses the
 * push while only deltas arrive. The end, failures and waits are pulled, so content has one path.
 *
 * Push.P1. `take` gets the values that the pull would have returned next, in that order. No value is lost or repeated between pulling and
 *     pushing.
 * Push.P2. A push ends when `take` returns false, when it calls `over`, or when it is stopped. The next value is pulled then. `over` is
 *     called at most once, and not after `take` returned false. It may be called before the push returns.
 * Push.P3. A push is looked up before each use (`of`), and only while no pull is running.
 */
import * as Channel from "effect/Channel"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** Calls `take` with each value until it returns false. Returns a function that stops the push. */
export type Push<A> = (take: (value: A) => boolean, over: () => void) => () => void

/** Adds a push to a pull. `find` returns `undefined` while the next value has to be pulled. */
export const attach = <A, E, Done>(
  pull: Pull.Pull<A, E, Done>,
  find: () => Push<A> | undefined
): Pull.Pull<A, E, Done> => Object.assign(pull, { [PUSH]: find })

/** The push of a pull, if it has one now. */
export const of = <A, E, Done>(pull: Pull.Pull<A, E, Done>): Push<A> | undefined =>
  isPushing(pull) ? pull[PUSH]() : undefined

/**
 * A pull that was made from a source by `f`, with a push made the same way. `f` returns `undefined` for a value to drop. The push is over with
 * the value from which on `isOver` holds.
 */
export const through = <A, B, E, Done>(
  pull: Pull.Pull<B, E, Done>,
  source: () => Pull.Pull<A, unknown, unknown> | undefined,
  f: (value: A) => B | undefined,
  isOver = () => false
): Pull.Pull<B, E, Done> =>
  attach(pull, () => {
    const from = isOver() ? undefined : source()
    const push = from && of(from)
    if (push === undefined) return undefined
    return (take, over) =>
      push((value) => {
        const next = f(value)
        const goesOn = next === undefined || take(next)
        if (goesOn && isOver()) over()
        return goesOn && !isOver()
      }, over)
  })

/** A pull of what `f` makes of the values of another, without `undefined`; it pushes where the other does. */
export const filterMap = <A, B, E, Done>(
  pull: Pull.Pull<A, E, Done>,
  f: (value: A) => B | undefined
): Pull.Pull<B, E, Done> => {
  const next: Pull.Pull<B, E, Done> = Effect.flatMap(pull, (value) => {
    const made = f(value)
    return made === undefined ? next : Effect.succeed(made)
  })
  return through(next, () => pull, f)
}

/**
 * Calls `act` with each value of a pull, until the pull ends. `act` returns an effect that has to run before the next value, if there is one.
 *
 * **Gotchas**
 *
 * `act` runs outside the fiber for a pushed value. An exception there is a defect of the fiber all the same.
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

/** `Stream.unwrap` that keeps the inner stream's pull, and so its push. The effect runs when the pull is made, not at the first value. */
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

/** Takes pushed values. Succeeds with whether the next value has to be pulled. */
const pushed = <A, E>(
  push: Push<A>,
  act: (value: A) => Effect.Effect<void, E> | undefined
): Effect.Effect<boolean, E> =>
  Effect.suspend(() => {
    const outcome = Deferred.makeUnsafe<boolean, E>()
    const stop = push(
      (value) => {
        const first = acted(act, value)
        if (first === undefined) return true
        Deferred.doneUnsafe(outcome, Effect.as(first, false))
        return false
      },
      () => Deferred.doneUnsafe(outcome, Exit.succeed(true))
    )
    return Effect.onInterrupt(Deferred.await(outcome), () => Effect.sync(stop))
  })

const acted = <A, E>(act: (value: A) => Effect.Effect<void, E> | undefined, value: A) => {
  try {
    return act(value)
  } catch (defect) {
    return Effect.die(defect)
  }
}
