/**
 * Those who are due go before those who have been refused.
 *
 * When many turns wake at once, their requests compete for the thread with what follows the answers to the first of them. A request
 * that is late is late for its turn. A refusal that is dealt with a moment later is nobody's loss: a wait follows.
 *
 * W1. A refusal is held back while somebody who is due has not asked, and for `LIMIT_MS` at the most. An answer never is.
 * W2. Those held back go on in their order, a few in one turn of the event loop: streams go on meanwhile, and whoever becomes due comes
 *     first again.
 */
import type { Http } from "@holdfast/providers"
import { Clock, Context, Effect, Latch, Layer, MutableList, type Scope } from "effect"

/** Longer than the requests of two thousand take. Short beside the waits that follow, and beside what a model is given to answer. */
export const LIMIT_MS = 2_000

export interface RightOfWay {
  /** Somebody is due; gives what says that it has asked, or has gone. To be called once. */
  readonly enter: () => () => void
  /** Waits until nobody is (W1). */
  readonly giveWay: Effect.Effect<void>
  /** The same without a fiber: calls back, at once or then. */
  readonly whenFree: (act: () => void) => void
}

/** Of a process; without a layer nobody gives way. */
export const RightOfWay = Context.Reference<RightOfWay>("@holdfast/session-orchestrator/conversation/RightOfWay", {
  defaultValue: () => ({ enter: () => () => {}, giveWay: Effect.void, whenFree: (act) => act() })
})

export const layer: Layer.Layer<never> = Layer.effect(
  RightOfWay,
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const held = MutableList.make<Held>()
    const work = Latch.makeUnsafe(false)
    const quiet = Latch.makeUnsafe(false)
    let due = 0

    yield* Effect.gen(function* () {
      const [first] = MutableList.toArrayN(held, 1)
      if (first === undefined) {
        work.closeUnsafe()
        return yield* work.await
      }
      if (due > 0) {
        quiet.closeUnsafe()
        const leftMs = first.since + LIMIT_MS - clock.currentTimeMillisUnsafe()
        if (leftMs > 0) yield* Effect.raceFirst(quiet.await, Effect.sleep(leftMs))
      }
      for (const { resume } of MutableList.takeN(held, AT_ONCE)) resume()
      yield* Effect.yieldNow // W2
    }).pipe(Effect.forever, Effect.forkScoped)

    const whenFree = (act: () => void): void => {
      if (due === 0 && held.length === 0) return act()
      MutableList.append(held, { since: clock.currentTimeMillisUnsafe(), resume: act })
      work.openUnsafe()
    }
    const wait = Effect.callback<void>((resume) => whenFree(() => resume(Effect.void)))
    return {
      enter: () => {
        due++
        return () => {
          due--
          if (due === 0) quiet.openUnsafe()
        }
      },
      whenFree,
      giveWay: Effect.suspend(() => (due > 0 || held.length > 0 ? wait : Effect.void))
    }
  })
)

/** The same HTTP, whose refused calls give way. */
export const behind = (http: Http.Http["Service"], { giveWay, whenFree }: RightOfWay): Http.Http["Service"] => ({
  endpoint: (url, headers) => {
    const post = http.endpoint(url, headers)
    const { begin } = post
    const behind = (body: string, scope: Scope.Scope) =>
      Effect.matchEffect(post(body, scope), {
        onFailure: (error) => Effect.andThen(giveWay, Effect.fail(error)),
        onSuccess: (answer) => (answer.status < REFUSED ? Effect.succeed(answer) : Effect.as(giveWay, answer))
      })
    return begin === undefined ? behind : Object.assign(behind, { begin: givingWay(begin, whenFree) })
  }
})

// --- internal

/** The same without a fiber. A call that is cancelled while it gives way reports nothing. */
const givingWay =
  (begin: Http.Begin, whenFree: RightOfWay["whenFree"]): Http.Begin =>
  (body, world, heard) => {
    let isCancelled = false
    const later = (act: () => void): void =>
      whenFree(() => {
        if (!isCancelled) act()
      })
    const cancel = begin(body, world, {
      answered: heard.answered,
      refused: (answer, text) => {
        if (answer.status < REFUSED) heard.refused(answer, text)
        else later(() => heard.refused(answer, text))
      },
      broken: (broken) => later(() => heard.broken(broken))
    })
    return () => {
      isCancelled = true
      cancel()
    }
  }

/** From this status on. */
const REFUSED = 400

/** What is done with so many refusals is some milliseconds of the thread. */
const AT_ONCE = 8

interface Held {
  /** Epoch milliseconds. */
  readonly since: number
  readonly resume: () => void
}
