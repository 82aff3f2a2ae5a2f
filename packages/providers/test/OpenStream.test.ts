/** Tests what a stream that is open keeps in memory. */
import { expect, it } from "@effect/vitest"
import { ProviderCall } from "@holdfast/kernel/host"
import { Effect } from "effect"
import type { Endpoint } from "../src/http/Endpoint.ts"
import * as Limits from "../src/limits/Limits.ts"
import * as OpenAi from "../src/openai/Response.ts"
import * as Transport from "../src/Transport.ts"
import { openAiCompatible, request } from "./harness/Dialect.ts"
import { heapUsed } from "./harness/Heap.ts"
import { given } from "./harness/Posted.ts"

const providerOf = (post: Endpoint["post"]) =>
  Transport.provider(
    {
      refuses: () => undefined,
      bodyOf: (request) => request,
      machineOf: () => OpenAi.make((n) => `id${n}`)
    },
    () => ({ post, conceal: (text) => text })
  )

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
  const { data, head, post } = given()
  const provider = Limits.withLimits(
    providerOf((_body, listener) => post(listener)),
    { firstContentMs: 1_000, idleMs: 1_000 }
  )
  const running = ProviderCall.of(provider)(own, world, {
    events: (events) => {
      seen.push(...events.map(({ type }) => type))
      return false
    },
    end: () => {},
    progress: () => {}
  })
  head()
  data(openAiCompatible.delta("Hi"))
  return [running, new WeakRef(own)]
}

it.effect("a response that streams keeps nothing of its request", () =>
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
      const { data, head, post } = given()
      const seen: Array<string> = []
      const provider = providerOf((_body, listener) => post(listener))
      const running = ProviderCall.of(provider)(request, yield* ProviderCall.worldOf(yield* Effect.scope), {
        events: (events) => {
          seen.push(...events.map(({ type }) => type))
          return false
        },
        end: () => {},
        progress: () => {}
      })
      const first = (): WeakRef<Uint8Array> => {
        const read = new TextEncoder().encode(openAiCompatible.delta("a"))
        head()
        data(read)
        return new WeakRef(read)
      }
      const read = first()
      yield* collected
      expect(seen).toEqual(["text-delta"])
      expect(read.deref()).toBeUndefined()
      running.more()
    })
  )
)
