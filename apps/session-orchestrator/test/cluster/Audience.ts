/**
 * People who watch conversations through clients that reconnect: each through one runner, and when that is gone through the next,
 * with the id of the last event that it saw.
 */
import { Effect, type Scope } from "effect"
import { Onlooker } from "../service/Onlooker.ts"
import * as Runners from "./Runners.ts"

/** What a client waits between two tries to connect. */
const INTERVAL = "100 millis"

/** Between two looks at what they have seen. */
const LOOK = "50 millis"

/** Watches conversations for as long as the scope is open; they are spread over the runners. */
export const watch = (
  runners: ReadonlyArray<Runners.Runner>,
  ids: ReadonlyArray<string>
): Effect.Effect<ReadonlyMap<string, Onlooker>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const audience = new Map(ids.map((id) => [id, new Onlooker()]))
    for (const [place, [id, onlooker]] of Array.from(audience).entries()) {
      yield* Effect.forkScoped(followed(runners, place, id, onlooker))
    }
    return audience
  })

/** Waits until everybody has seen so many turns end, by default one. */
export const seenEnd = (
  audience: ReadonlyMap<string, Onlooker>,
  waitSeconds: number,
  ends = 1
): Effect.Effect<void, Error> => {
  const left = () =>
    Iterator.from(audience)
      .filter(([, { events }]) => events.filter(({ type }) => type === "turn-end").length < ends)
      .map(([id]) => id)
      .toArray()
  const wait: Effect.Effect<void> = Effect.suspend(() =>
    left().length === 0 ? Effect.void : Effect.andThen(Effect.sleep(LOOK), wait)
  )
  return Effect.mapError(
    Runners.inTime("everybody to see the end", waitSeconds, wait),
    ({ message }) => new Error(`${message}; it did not come for ${left().join(", ")}`)
  )
}

// --- internal

const followed = (
  runners: ReadonlyArray<Runners.Runner>,
  place: number,
  id: string,
  onlooker: Onlooker
): Effect.Effect<never> => {
  const connected = (runner: Runners.Runner) =>
    Effect.gen(function* () {
      const path = `/v1/conversations/${id}/events`
      const live = yield* runner.open({ path, headers: { "last-event-id": String(onlooker.lastId) } })
      if (live.status !== 200) return
      let rest = ""
      for (;;) {
        const frames = (rest + (yield* live.next)).split("\n\n")
        rest = frames.pop() ?? ""
        for (const frame of frames) onlooker.read(frame)
      }
    }).pipe(Effect.scoped, Effect.ignore)
  let next = place
  return Effect.suspend(() => {
    const runner = runners[next++ % runners.length]
    return Effect.andThen(runner === undefined ? Effect.void : connected(runner), Effect.sleep(INTERVAL))
  }).pipe(Effect.forever)
}
