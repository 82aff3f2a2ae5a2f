/** A pull whose values a test gives, to a consumer that pulls or is pushed to. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Push from "../src/calls/Push.ts"

/** A source that a test controls. */
export interface PushSource<A, E> {
  readonly pull: Pull.Pull<A, E>
  readonly give: (value: A) => void
  /** Has the consumer pull the next value. */
  readonly interlude: () => void
  /** Ends the pull, behind what was given. */
  readonly end: (how?: Pull.Pull<never, E>) => void
  readonly isPushing: () => boolean
  /** How many values were pushed, and how often a push was stopped. */
  readonly calls: { pushes: number; stops: number }
}

/** A source without values yet. */
export const make = <A, E = never>(): PushSource<A, E> => {
  const values: Array<A> = []
  const calls = { pushes: 0, stops: 0 }
  let ended: Pull.Pull<never, E> | undefined
  let wake: (() => void) | undefined
  let consumer: { readonly take: (value: A) => boolean; readonly over: () => void } | undefined

  const arrival = Effect.callback<void>((resume) => {
    wake = () => resume(Effect.void)
  })
  const next: Pull.Pull<A, E> = Effect.suspend(() => {
    if (values.length > 0) return Effect.sync(() => values.shift() as A) // there is one
    return ended ?? Effect.flatMap(arrival, () => next)
  })
  const push: Push.Push<A> = (take, over) => {
    const own = { take, over }
    consumer = own
    return () => {
      calls.stops++
      if (consumer === own) consumer = undefined
    }
  }
  const interlude = (): void => {
    const own = consumer
    consumer = undefined
    own?.over()
  }
  return {
    pull: Push.attach(next, () => (values.length > 0 || ended !== undefined ? undefined : push)),
    give: (value) => {
      const own = consumer
      if (own === undefined) {
        values.push(value)
        return wake?.()
      }
      calls.pushes++
      if (!own.take(value) && consumer === own) consumer = undefined
    },
    interlude,
    end: (how = Cause.done()) => {
      ended = how
      wake?.()
      interlude()
    },
    isPushing: () => consumer !== undefined,
    calls
  }
}
