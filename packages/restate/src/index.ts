/**
 * Turns in [Restate](https://restate.dev): its journal records them, and its timers wait for them.
 *
 * **Example** (A handler whose turns survive everything)
 *
 * ```ts
 * const hf = holdfast({ model, tools, retry: "overnight" })
 * const ask = (ctx: restate.Context, prompt: string) => hf.turn(prompt, { engine: engine(ctx) }).result
 * ```
 */
import { type Context, RestatePromise } from "@restatedev/restate-sdk"
import type { Engine, Json } from "holdfast"

/**
 * The engine of one invocation of a handler.
 *
 * **Details**
 *
 * A wait that is longer than the service's inactivity timeout suspends the invocation: nothing of it stays in memory. Cancelling the invocation aborts
 * the turn, whose result is then returned as any other.
 *
 * **Gotchas**
 *
 * A call of a model is one journal entry. Set the service's `abortTimeout` above the longest response: Restate ends an invocation that is silent for
 * longer, and the call is made again.
 */
export const engine = (ctx: Pick<Context, "request" | "run" | "sleep">): Engine => {
  const { attemptCompletedSignal, id } = ctx.request()
  const open = new Set<RestatePromise<void>>()
  let calls = 0
  let isAwaiting = false

  /** Restate can await one promise at a time, so calls that are open at once are awaited as one. */
  const awaitAll = async (): Promise<void> => {
    if (isAwaiting) return
    isAwaiting = true
    while (open.size > 0) {
      // The calls that follow from the last answer come first; later ones are open with the next answer.
      for (let before = -1; before !== calls;) {
        before = calls
        await new Promise((resolve) => setTimeout(resolve))
      }
      await RestatePromise.race(Array.from(open)).catch((error: unknown) => refuseAll(error))
    }
    isAwaiting = false
  }
  const refusals = new Map<RestatePromise<void>, (error: unknown) => void>()
  /** A cancellation is an answer to everything that is open. */
  const refuseAll = (error: unknown): void => {
    const refused = Array.from(open, (call) => refusals.get(call))
    open.clear()
    for (const refuse of refused) refuse?.(error)
  }
  const answer = <A>(called: RestatePromise<A>): Promise<A> =>
    new Promise((resolve, reject) => {
      calls++
      const call: RestatePromise<void> = called.map((value, failure) => {
        open.delete(call)
        refusals.delete(call)
        if (failure === undefined) resolve(value as A)
        else reject(failure)
      })
      open.add(call)
      refusals.set(call, reject)
      void awaitAll()
    })

  return {
    id,
    run: (name, work) => answer(ctx.run<Json>(name, work)),
    sleep: (name, ms) => answer(ctx.sleep(ms, name)),
    over: attemptCompletedSignal,
    isCancelled: (error) => error instanceof Error && error.name === "CancelledError"
  }
}
