/**
 * Gives turns that are due priority over turns whose call was refused.
 *
 * When many turns wake at once, their requests compete for the thread with the processing of the first responses. A late request delays
 * its turn. A refusal that is processed a moment later delays nothing: a wait follows it.
 *
 * RightOfWay.W1. A refusal is held back while a due turn has not called yet, and for `LIMIT_MS` at most. An answer is never held back.
 * RightOfWay.W2. Held refusals continue in their order, a few per turn of the event loop: streams continue meanwhile, and turns that
 *     become due go first again.
 */
import type { Http } from "@holdfast/providers"
import { Clock, Context, Effect, Latch, Layer, MutableList, type Scope } from "effect"

/**
 * A refusal that is held back is not on record, so its call is made again if the process dies now (rule X1). This is the time of some
 * commits: the refusals of a crowd are recorded while the rest of the crowd still calls.
 */
export const LIMIT_MS = 50

/** The priority of turns that are due. */
export interface RightOfWay {
  /** A turn is due. To call the returned function once: its call was made, or the turn has gone. */
  readonly enter: () => () => void
  /** Waits until no due turn has still to call (RightOfWay.W1). */
  readonly giveWay: Effect.Effect<void>
  /** The same without a fiber: calls `act` at once or then. */
  readonly whenFree: (act: () => void) => void
}

/** The priority of a process; without a layer no refusal is held back. */
export const RightOfWay = Context.Reference<RightOfWay>("@holdfast/session-orchestrator/pacing/RightOfWay", {
  defaultValue: () => ({ enter: () => () => {}, giveWay: Effect.void, whenFree: (act) => act() })
})

/** The priority of this process's due turns. */
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
      yield* Effect.yieldNow // RightOfWay.W2
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

/** An HTTP client whose refused calls are held back. */
export const holdingBack = (http: Http.Http["Service"], { giveWay, whenFree }: RightOfWay): Http.Http["Service"] => ({
  endpoint: (url, headers) => {
    const post = http.endpoint(url, headers)
    const { begin } = post
    const held = (body: string, scope: Scope.Scope) =>
      Effect.matchEffect(post(body, scope), {
        onFailure: (error) => Effect.andThen(giveWay, Effect.fail(error)),
        onSuccess: (answer) => (answer.status < REFUSED ? Effect.succeed(answer) : Effect.as(giveWay, answer))
      })
    return begin === undefined ? held : Object.assign(held, { begin: givingWay(begin, whenFree) })
  }
})

// --- internal

/** The same without a fiber. A call that is cancelled while it is held back reports nothing. */
const givingWay =
  (begin: Http.Begin, whenFree: RightOfWay["whenFree"]): Http.Begin =>
  (body, world, listener) => {
    let isCancelled = false
    const later = (act: () => void): void =>
      whenFree(() => {
        if (!isCancelled) act()
      })
    const cancel = begin(body, world, {
      answered: listener.answered,
      refused: (answer, text) => {
        if (answer.status < REFUSED) listener.refused(answer, text)
        else later(() => listener.refused(answer, text))
      },
      broken: (broken) => later(() => listener.broken(broken))
    })
    return () => {
      isCancelled = true
      cancel()
    }
  }

/** The lowest HTTP status of a refusal. */
const REFUSED = 400

/** Refusals that continue together: processing them takes the thread some milliseconds, and their records are one append. */
const AT_ONCE = 32

interface Held {
  /** Epoch milliseconds. */
  readonly since: number
  readonly resume: () => void
}
