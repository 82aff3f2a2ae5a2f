/**
 * A patient call that leaves memory for the time of its waits, and goes on from its records when it is made again.
 *
 * A wait longer than `afterMs` fails the stream with `TurnParked`; the records hold all that the call needs to go on at that wait.
 */
import { type Checkpoint, type Records, TurnParked } from "@holdfast/kernel"
import { RetryStrategies } from "@holdfast/policy"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** How a call parks. */
export interface Park {
  /** The longest wait that stays in memory. */
  readonly afterMs: number
  /** The records of the call; those of earlier lives are in it before the call is made. */
  readonly records: Array<Records.Stored>
}

/** The strategy's sleep: it parks where the wait is longer than `afterMs`. */
export const sleep =
  ({ afterMs }: Park): RetryStrategies.Sleep =>
  (delay, awaited) => {
    const ms = Duration.toMillis(delay)
    if (ms <= afterMs) return RetryStrategies.sleepInMemory(delay, awaited)
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.fail(new TurnParked.TurnParked({ retryAt: awaited?.retryAt ?? now + ms }))
    )
  }

/** The checkpoint of a call over its records. */
export const checkpoint = ({ records }: Park): Checkpoint.Checkpoint["Service"] => {
  const known = records.slice()
  const recorded = new Map(known.map(({ name, value }) => [name, value]))
  return {
    known,
    mark: (name) => Effect.sync(() => void records.push({ name, value: "true" })),
    run: (name, schema, effect) => {
      const codec = Schema.fromJsonString(Schema.toCodecJson(schema))
      const value = recorded.get(name)
      if (value !== undefined) return Effect.orDie(Schema.decodeEffect(codec)(value))
      return Effect.tap(effect, (result) =>
        Effect.map(Effect.orDie(Schema.encodeEffect(codec)(result)), (value) => void records.push({ name, value }))
      )
    }
  }
}
