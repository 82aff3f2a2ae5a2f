/**
 * Reports tool servers that are not up when a turn begins to run, and holds the turn for those that it requires.
 *
 * Q1. A server that is not required costs the turn its tools and nothing else: a warning in the log and a `tools-missing` event
 *     report it. The event is emitted in every life of the turn, the warning in the first one.
 * Q2. A required server holds the turn until it is up, for `HOLD` at most. Its `tools-missing` has `until`. An abort ends the hold.
 * Q3. After that time the turn's next call of a model fails, without a request, with the reason; it is not retried.
 */
import type { Provider } from "@holdfast/kernel"
import type { Failure, Ids, TurnEvent } from "@holdfast/wire"
import { Clock, Duration, Effect, Stream } from "effect"
import type { MissingServer, Tools } from "../conversation/Tools.ts"

/** Q2. A server that a person has to mend is not waited for in vain all night. */
export const HOLD = Duration.minutes(10)

/** The turn, and what it is reported through. */
export interface Setting {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** No record of an attempt is there yet. */
  readonly isFirstLife: boolean
  readonly live: (event: TurnEvent.ToolsMissing) => void
  /** Called before the turn is held: others need its place. */
  readonly makeRoom: () => void
  readonly abort: Effect.Effect<void>
}

/** Waits as long as it has to; returns what the turn fails with, where a required server is still missing (Q3). */
export const settle = Effect.fnUntraced(function* (
  tools: Pick<Tools["Service"], "missing" | "isComplete">,
  { abort, conversationId, isFirstLife, live, makeRoom, turnId }: Setting
): Effect.fn.Return<Failure.Failure | undefined> {
  const report = (servers: ReadonlyArray<MissingServer>, until?: number): void =>
    live({
      type: "tools-missing",
      conversationId,
      turnId,
      servers: servers.map(({ because, server }) => ({ server, message: because })),
      ...(until === undefined ? undefined : { until })
    })
  const required = tools.missing().filter(({ isRequired }) => isRequired)
  if (required.length > 0) {
    makeRoom()
    const until = (yield* Clock.currentTimeMillis) + Duration.toMillis(HOLD)
    report(required, until)
    yield* Effect.logWarning(
      `Turn ${turnId} is held for ${Duration.format(HOLD)} at most: it requires the tools of ${listed(required)}.`
    )
    const isOver = yield* tools.isComplete.pipe(
      Effect.as(true),
      Effect.raceFirst(Effect.as(Effect.sleep(HOLD), false)),
      Effect.raceFirst(Effect.as(abort, true))
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

/** A provider that fails every call with a failure, and calls nobody (Q3). */
export const failing = (failure: Failure.Failure): Provider.Provider["Service"] => ({
  stream: () => Stream.make({ type: "error" as const, failure })
})

// --- internal

const listed = (servers: ReadonlyArray<MissingServer>): string =>
  servers.map(({ because, server }) => `${server} (${because})`).join(", ")

const unavailable = (required: ReadonlyArray<MissingServer>): Failure.Failure | undefined =>
  required.length === 0
    ? undefined
    : {
        reason: "unknown",
        message: `The tools of ${listed(required)} are required, and were not there within ${Duration.format(HOLD)}.`,
        retryable: false
      }
