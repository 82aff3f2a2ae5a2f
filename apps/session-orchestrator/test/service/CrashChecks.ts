/** Checks what must be true of every conversation after any crashes. */
import { assert } from "@effect/vitest"
import type { TurnEvent } from "@holdfast/wire"
import { Effect } from "effect"
import * as fs from "node:fs"
import type * as CrashHarness from "./CrashHarness.ts"
import * as DatabaseReads from "./DatabaseReads.ts"

/** Tolerance for the rounding of timers and clocks. */
const ROUNDING_MS = 5

/** Waits for the end of every turn, then stops the process and checks the results. */
export const assertWhole = Effect.fnUntraced(function* (
  harness: CrashHarness.Harness,
  { turns, texts }: { readonly turns: ReadonlyArray<string>; readonly texts: ReadonlyArray<string> }
) {
  // Acknowledged turns are not sent again: they must end by themselves.
  for (const turnId of turns) if (!harness.acknowledged.has(turnId)) yield* harness.post(turnId)
  for (const turnId of turns)
    yield* harness.waitUntilSeen(`the end of ${turnId}`, (watcher) => watcher.has("turn-end", turnId))
  const { conversationId, watcher, provider } = harness
  // A step with tool calls alone has no text; nor has an answer that was aborted before its first word.
  const answers = watcher.answers.filter((answer) => answer !== "" || harness.aborted.size > 0)
  const state = yield* harness.alive.state(conversationId)
  const history = yield* harness.alive.history(conversationId)
  const exit = yield* harness.stop
  assert.strictEqual(exit.code, 0, exit.stderr)

  // No event twice, none left out, no text twice; one start and one seal per turn, in the order of acceptance.
  assert.deepStrictEqual(watcher.faults, [])
  const starts = watcher.events.filter(({ type }) => type === "turn-start")
  const ends = watcher.events.filter((event): event is TurnEvent.TurnEnd => event.type === "turn-end")
  assert.deepStrictEqual(
    starts.map(({ turnId }) => turnId),
    turns
  )
  const isAborted = (turnId: string) => harness.aborted.has(turnId)
  assert.deepStrictEqual(
    ends.map(({ turnId, status }) => `${turnId}: ${status}`),
    turns.map((turnId) => `${turnId}: ${isAborted(turnId) ? "aborted" : "completed"}`)
  )
  assert.strictEqual(state.status, "idle")
  for (const [i, answer] of answers.entries()) {
    const whole = isAborted(turns[i] ?? "") ? texts.map((text) => text.slice(0, answer.length)) : texts
    assert.include(whole, answer)
  }
  assert.deepStrictEqual(
    history.filter((line) => !/: tool-(?:call|result)/.test(line)),
    turns.flatMap((turnId, i) => [`user: prompt ${turnId}`, `assistant: ${answers[i]}`])
  )

  // Attempts and budget continue where they were, and clients received the same.
  const waits = turns.map((turnId) => DatabaseReads.waitsOf(harness.database, turnId))
  for (const [i, ofTurn] of waits.entries()) {
    assert.deepStrictEqual(
      ofTurn.map(({ attempt }) => attempt),
      ofTurn.map((_, n) => n)
    )
    // All but the wait that an abort has cut short.
    const slept = ofTurn.slice(0, DatabaseReads.endsOf(harness.database, turns[i] ?? "").length)
    assert.strictEqual(
      ends[i]?.sleptMs,
      slept.reduce((sum, { delayMs }) => sum + delayMs, 0)
    )
    const announced = watcher.retries.filter(({ turnId }) => turnId === turns[i])
    // A death may come between the record of a wait and its event, and the wait may be over after the restart.
    assert.isAtLeast(announced.length, ofTurn.length - harness.deaths)
    assert.deepStrictEqual(
      announced.map(({ attempt, retryAt }) => ({ attempt, retryAt })),
      ofTurn
        .filter(({ retryAt }) => announced.some((retry) => retry.retryAt === retryAt))
        .map(({ attempt, retryAt }) => ({ attempt, retryAt }))
    )
    const chains = watcher.events.filter((event) => event.type === "retry-end" && event.turnId === turns[i])
    assert.deepStrictEqual(chains.length, ofTurn.length === 0 ? 0 : 1)
  }

  // One request per attempt, except an attempt that a death has cut.
  const attempts = ends.reduce((sum, end) => sum + end.attempts, 0)
  assert.isAtLeast(provider.count(), attempts)
  assert.isAtMost(provider.count(), attempts + harness.deaths)

  for (const promise of harness.promises) assertKept(harness, promise)
  assertRunOnce(harness)
})

// --- internal

/** The lateness of a wake is not checked, as it depends on the machine; nights show that waits do not restart. */
const assertKept = ({ askedAt }: CrashHarness.Harness, { nth, retryAt }: CrashHarness.Promised): void => {
  const at = askedAt[nth - 1]
  if (at === undefined) return assert.fail(`the wait until ${retryAt} was followed by no attempt`)
  assert.isAtLeast(at - retryAt, -ROUNDING_MS, "it woke too early")
}

/** Rule X8. Tools of these tests leave their name each time that they run; tools that may run again have `again` in it. */
const assertRunOnce = ({ watcher, runs }: CrashHarness.Harness): void => {
  const lines = fs.existsSync(runs) ? fs.readFileSync(runs, "utf8").trim().split("\n") : []
  for (const event of watcher.events) {
    if (event.type !== "tool-result") continue
    const { isError, output, toolName } = event
    const times = lines.filter((line) => line === toolName).length
    if (toolName.endsWith("again") || !isError) assert.strictEqual(output, "appended", toolName)
    else assert.include(output, "Whether it took effect is unknown", toolName)
    if (!isError) assert.isAtLeast(times, 1, `${toolName} was said to have run`)
    if (!toolName.endsWith("again")) assert.isAtMost(times, 1, `${toolName} was run twice`)
  }
}
