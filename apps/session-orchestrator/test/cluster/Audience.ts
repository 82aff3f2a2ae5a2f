/**
 * People who watch conversations through clients that reconnect: each through one runner, and when that is gone through the next,
 * with the id of the last event that it saw.
 */
import { Effect, type Scope } from "effect"
import * as WatchingClient from "../service/WatchingClient.ts"
import * as Runners from "./Runners.ts"

/** What a client waits between two tries to connect. */
const INTERVAL = "100 millis"

/** Between two looks at what they have seen. */
const LOOK = "50 millis"

/** Who watches what. */
export type Audience = ReadonlyMap<string, WatchingClient.WatchingClient>

/**
 * Watches conversations for as long as the scope is open; they are spread over the runners. What stands in the list when a
 * connection has gone is where the next one goes.
 */
export const watch = (
  runners: ReadonlyArray<Runners.Runner>,
  ids: ReadonlyArray<string>
): Effect.Effect<Audience, never, Scope.Scope> =>
  Effect.gen(function* () {
    const audience = new Map(ids.map((id) => [id, new WatchingClient.WatchingClient()]))
    for (const [place, [id, watcher]] of Array.from(audience).entries()) {
      yield* Effect.forkScoped(followed(runners, place, id, watcher))
    }
    return audience
  })

/** Waits until everybody has seen so many turns end, by default one. */
export const seenEnd = (audience: Audience, waitSeconds: number, ends = 1): Effect.Effect<void, Error> => {
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
  watcher: WatchingClient.WatchingClient
): Effect.Effect<never> => {
  const connected = (runner: Runners.Runner) =>
    Effect.gen(function* () {
      const path = `/v1/conversations/${id}/events`
      const live = yield* runner.open({ path, headers: { "last-event-id": String(watcher.lastId) } })
      if (live.status === 200) yield* WatchingClient.follow(watcher, live)
    }).pipe(Effect.scoped, Effect.ignore)
  let next = place
  return Effect.suspend(() => {
    const runner = runners[next++ % runners.length]
    return Effect.andThen(runner === undefined ? Effect.void : connected(runner), Effect.sleep(INTERVAL))
  }).pipe(Effect.forever)
}
