/**
 * Reports tool servers that are down when a turn begins, and waits for required ones.
 *
 * - A server that is not required costs the turn its tools and nothing else: a warning in the log and a `tools-missing`
 *   event report it. The event is emitted in every life of the turn, the warning in the first one.
 * - A required server holds the turn until it is up, for `HOLD` at most. Its `tools-missing` has `until`. An abort ends the
 *   hold.
 * - After that time the turn's next call of a model fails, without a request, with the reason; it is not retried.
 */
import type { Provider } from "@holdfast/kernel"
import { defined, type Failure } from "@holdfast/wire"
import { Clock, Deferred, Duration, Effect, Stream } from "effect"
import type { ToolServers } from "@holdfast/mcp"
import type { Session } from "../session/Session.ts"
import type { TurnLife } from "../session/TurnLife.ts"

/** A broken server needs a person, so a turn does not wait for it all night. */
export const HOLD = Duration.minutes(10)

/** Waits for required servers; returns the failure of the turn if one is still missing. */
export const settle = Effect.fnUntraced(function* (
  tools: Pick<ToolServers.OfferedTools, "missing" | "isComplete">,
  { conversationId, hub }: Session,
  turn: TurnLife,
  /** The turn has no record of an attempt yet. */
  isFirstLife: boolean
): Effect.fn.Return<Failure.Failure | undefined> {
  const { abort, turnId } = turn
  const report = (servers: ReadonlyArray<ToolServers.MissingServer>, until?: number): void =>
    hub.live({
      type: "tools-missing",
      conversationId,
      turnId,
      servers: servers.map(({ because, server }) => ({ server, message: because })),
      ...defined({ until })
    })
  const required = tools.missing().filter(({ isRequired }) => isRequired)
  if (required.length > 0) {
    turn.without("place") // other turns need it
    turn.holds.slot?.ready()
    const until = (yield* Clock.currentTimeMillis) + Duration.toMillis(HOLD)
    report(required, until)
    yield* Effect.logWarning(
      `Turn ${turnId} is held for ${Duration.format(HOLD)} at most: it requires the tools of ${listed(required)}.`
    )
    const isOver = yield* tools.isComplete.pipe(
      Effect.as(true),
      Effect.raceFirst(Effect.as(Effect.sleep(HOLD), false)),
      Effect.raceFirst(Effect.as(Deferred.await(abort), true))
    )
    if (isOver) yield* Effect.logInfo(`Turn ${turnId} is held no longer.`)
    else return unavailable(tools.missing().filter(({ isRequired }) => isRequired))
  }
  const others = tools.missing().filter(({ isRequired }) => !isRequired)
  if (others.length === 0) return undefined
  report(others)
  if (isFirstLife) {
    yield* Effect.logWarning(`Turn ${turnId} runs without the tools of ${listed(others)}, until it is up.`)
  }
  return undefined
})

/** A provider that fails every call with `failure`, without a request. */
export const failing = (failure: Failure.Failure): Provider.Provider["Service"] => ({
  stream: () => Stream.make({ type: "error" as const, failure })
})

// --- internal

const listed = (servers: ReadonlyArray<ToolServers.MissingServer>): string =>
  servers.map(({ because, server }) => `${server} (${because})`).join(", ")

const unavailable = (required: ReadonlyArray<ToolServers.MissingServer>): Failure.Failure | undefined =>
  required.length === 0
    ? undefined
    : {
        reason: "unknown",
        message: `The tools of ${listed(required)} are required, and were not available within ${Duration.format(HOLD)}.`,
        retryable: false
      }
