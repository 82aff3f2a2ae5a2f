/** Tests what a stream that is open keeps in memory. */
import { expect, it } from "@effect/vitest"
import { ProviderCall } from "@holdfast/kernel/host"
import { Cause, Effect } from "effect"
import type { BytePull } from "../src/http/Http.ts"
import * as Limits from "../src/limits/Limits.ts"
import * as OpenAi from "../src/openai/Response.ts"
import * as Transport from "../src/Transport.ts"
import { openAiCompatible, request } from "./harness/Dialect.ts"
import { heapUsed } from "./harness/Heap.ts"

const providerOf = (bytes: BytePull) =>
  Transport.provider({
    refuses: () => undefined,
    bodyOf: (request) => request,
    machineOf: () => OpenAi.make((n) => `id${n}`),
    endpointOf: () => ({
      post: () => Effect.succeed({ status: 200, headers: {}, bytes, isWhole: () => false }),
      begin: (_body, _world, { answered }) => {
        answered({ status: 200, headers: {}, bytes, isWhole: () => false }, () => {})
        return () => {}
      },
      conceal: (text) => text
    })
  })

/** A weak reference keeps its object alive until the end of the task that made it. */
const collected = Effect.gen(function* () {
  yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  heapUsed()
})

/** Makes a call in a function of its own, so that no variable of the test keeps its request. */
const begun = (
  world: ProviderCall.World,
  seen: Array<string>
): readonly [ProviderCall.Running, WeakRef<typeof request>] => {
  const own = { ...request }
  const bytes = Effect.succeed([new TextEncoder().encode(openAiCompatible.delta("Hi"))] as const)
  const provider = Limits.withLimits(providerOf(bytes), { firstContentMs: 1_000, idleMs: 1_000 })
  const running = ProviderCall.of(provider)(own, world, {
    events: (events) => {
      seen.push(...events.map(({ type }) => type))
      return false
    },
    end: () => {},
    progress: () => {}
  })
  return [running, new WeakRef(own)]
}

it.effect("ProviderCall.L4: a response that streams keeps nothing of its request", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const seen: Array<string> = []
      const [running, asked] = begun(yield* ProviderCall.worldOf(yield* Effect.scope), seen)
      yield* collected
      expect(seen).toEqual(["text-delta"])
      expect(asked.deref()).toBeUndefined()
      running.cancel()
    })
  )
)

it.effect("a response that streams keeps nothing of its first read", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const reads: Array<WeakRef<Uint8Array>> = []
      const texts = ["a", "b"]
      const bytes = Effect.suspend(() => {
        const text = texts.shift()
        if (text === undefined) return Cause.done()
        const read = new TextEncoder().encode(openAiCompatible.delta(text))
        reads.push(new WeakRef(read))
        return Effect.succeed([read] as const)
      })
      const running = ProviderCall.of(providerOf(bytes))(request, yield* ProviderCall.worldOf(yield* Effect.scope), {
        events: () => false,
        end: () => {},
        progress: () => {}
      })
      yield* collected
      expect(reads).toHaveLength(1)
      expect(reads[0]?.deref()).toBeUndefined()
      running.more()
    })
  )
)
