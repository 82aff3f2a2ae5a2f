/**
 * Counts calls that were answered at once, and writes the counts some seconds later (`AnsweredCalls`).
 *
 * Nothing waits for the disk: a call only adds to a count in memory, after its last byte. Counts are written `WRITE_MS` after the first of them,
 * and at a stop. A process that is killed loses the counts in between. Counts that could not be written are written with the next ones.
 */
import { Prices } from "@holdfast/policy"
import { type Message, Target } from "@holdfast/wire"
import { Duration, Effect, type Scope } from "effect"
import * as Usage from "../spend/Usage.ts"
import { type AnsweredCalls, type AnsweredCallsRow, HOUR_MS } from "../storage/AnsweredCalls.ts"

/** How long a count is in memory alone, in milliseconds. */
export const WRITE_MS = 5_000

/** Counts a call that has ended at a moment, in epoch milliseconds. */
export type Add = (target: Target.Target, usage: Message.Usage, at: number) => void

/** Counts while the scope is open, and writes the last counts when it closes. */
export const make = Effect.fnUntraced(function* (
  add: AnsweredCalls["Service"]["add"]
): Effect.fn.Return<Add, never, Scope.Scope> {
  let rows = new Map<string, AnsweredCallsRow>()
  let isPending = false
  const enter = (row: AnsweredCallsRow): void => {
    const key = `${row.hour} ${row.target}`
    const known = rows.get(key)
    rows.set(key, known === undefined ? row : sum(known, row))
  }
  // A stop that comes while counts are written waits for them.
  const write = Effect.uninterruptible(
    Effect.suspend(() => {
      const written = rows
      rows = new Map()
      isPending = false
      return written.size === 0
        ? Effect.void
        : Effect.catch(add(Array.from(written.values())), ({ message }) => {
            for (const row of written.values()) enter(row)
            return Effect.logWarning(`Calls through the gateway are counted later: ${message}`)
          })
    })
  )
  yield* Effect.addFinalizer(() => write)
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  return (target, usage, at) => {
    const isUnreported = usage.inputTokens === undefined || usage.outputTokens === undefined
    enter({
      hour: Math.floor(at / HOUR_MS) * HOUR_MS,
      target: Target.format(target),
      calls: 1,
      unreported: isUnreported ? 1 : 0,
      tokens: Usage.tokensOf(usage)
    })
    if (isPending) return
    isPending = true
    fork(Effect.forkIn(Effect.delay(write, Duration.millis(WRITE_MS)), scope))
  }
})

// --- internal

const sum = (a: AnsweredCallsRow, b: AnsweredCallsRow): AnsweredCallsRow => ({
  ...a,
  calls: a.calls + b.calls,
  unreported: a.unreported + b.unreported,
  tokens: Prices.add(a.tokens, b.tokens)
})
