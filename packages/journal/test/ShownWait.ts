/** What a client is shown of the wait that a turn is in, by its history. */
import type { Records } from "@holdfast/kernel"
import { History, ToolQuestion } from "@holdfast/kernel/host"
import { defined } from "@holdfast/wire"

/** The wait of a turn with these records; `undefined`: it is in none. */
export const of = (records: ReadonlyArray<Records.Stored>) => {
  const { wait } = History.of(records)
  if (wait === undefined) return undefined
  const {
    asks,
    decision,
    failure = asks && ToolQuestion.failureOf(asks),
    retry: attempt,
    retryAt,
    since,
    target
  } = wait
  const delayMs = Math.max(0, retryAt - since)
  return { attempt, delayMs, retryAt, asks, failure, target, ...defined({ credential: decision?.route?.credential }) }
}
