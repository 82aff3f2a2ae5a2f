/** Tests a process that is suspended longer than a limit on silence, while the provider continues to send. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { LATE_MS } from "../../src/limits/Deadline.ts"
import * as Limits from "../../src/limits/Limits.ts"
import * as Undici from "../../src/http/Undici.ts"
import { anthropicMessages, openAiCompatible } from "../harness/Dialect.ts"
import { run, text, usage } from "../harness/AttemptRun.ts"
import { threadProvider } from "../harness/ThreadProvider.ts"

/** Far longer than the time between the first content and the freeze; on a busy machine ten times that is. */
const IDLE_MS = 1_000

describe.each([openAiCompatible, anthropicMessages])("$name", (dialect) => {
  it.live(
    "rule C8: after a freeze longer than the limit the data in the socket is read; the attempt does not fail",
    () =>
      Effect.gen(function* () {
        const cut = dialect.text.findIndex((frame) => frame.includes("delta") && /"(content|text)":"\w/.test(frame)) + 1
        const first = dialect.text.slice(0, cut).join("")
        const frozen = Effect.fnUntraced(function* (idleMs: number) {
          const { block, url } = yield* threadProvider(first, dialect.text.slice(cut).join(""))
          const limited = Limits.withLimits(yield* dialect.make(url), { firstContentMs: 60_000, idleMs })
          let isFirst = true
          return yield* run(limited, (event) => {
            if (event.type !== "text-delta" || !isFirst) return
            isFirst = false
            // After the consumer waits again; the watchdog is set then.
            setImmediate(() => block(idleMs + 2 * LATE_MS))
          })
        })
        const soon = yield* frozen(IDLE_MS)
        const ending = soon.isSuccess ? soon : yield* frozen(10 * IDLE_MS)
        expect(ending.failure).toBeUndefined()
        expect(ending.isSuccess).toBe(true)
        expect(text(ending.events).length).toBeGreaterThan(50)
        expect(usage(ending.events)?.outputTokens).toBeGreaterThan(0)
      }).pipe(Effect.provide(Undici.layer))
  )
})
