/** Tests what a stream that is open keeps in memory. */
import { expect, it } from "@effect/vitest"
import { Opening } from "@holdfast/kernel/host"
import { Cause, Channel, Effect, Stream } from "effect"
import type { ResponseListener } from "../src/http/Http.ts"
import * as OpenAi from "../src/openai/Response.ts"
import * as Transport from "../src/Transport.ts"
import { openAiCompatible, request } from "./harness/Dialect.ts"
import { heapUsed } from "./harness/Heap.ts"

/** Begins a call and answers it, in a function of its own, so that no variable of the test keeps the call's listener. */
const answered = (
  stream: Opening.Events,
  underWay: Array<ResponseListener>,
  answers: Array<Opening.Answered>
): WeakRef<Opening.Listener> => {
  const listener: Opening.Listener = { refused: () => {}, answered: (answer) => void answers.push(answer) }
  Opening.of(stream)?.({ now: () => 0, elapsed: () => 0, after: () => () => {} }, listener)
  const answer = { status: 200, headers: {}, bytes: Effect.never, isWhole: () => false }
  for (const { answered } of underWay.splice(0)) answered(answer, () => {})
  return new WeakRef(listener)
}

it.effect("Opening.O4: a response that streams keeps nothing of its opening", () =>
  Effect.gen(function* () {
    const underWay: Array<ResponseListener> = []
    const stream = Transport.stream({
      post: () => Effect.never,
      begin: (_world, listener) => {
        underWay.push(listener)
        return () => {}
      },
      machine: () => {
        throw new Error("nothing is decoded here")
      },
      conceal: (text) => text,
      request
    })
    const answers: Array<Opening.Answered> = []
    const listener = answered(stream, underWay, answers)
    // A weak reference keeps its object alive until the end of the task that made it.
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    heapUsed()
    expect(answers).toHaveLength(1)
    expect(listener.deref()).toBeUndefined()
  })
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
      const stream = Transport.stream({
        post: () => Effect.succeed({ status: 200, headers: {}, bytes, isWhole: () => false }),
        machine: () => OpenAi.make((n) => `id${n}`),
        conceal: (text) => text,
        request
      })
      const pull = yield* Channel.toPullScoped(Stream.toChannel(stream), yield* Effect.scope)
      yield* pull
      // A weak reference keeps its object alive until the end of the task that made it.
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      heapUsed()
      expect(reads).toHaveLength(1)
      expect(reads[0]?.deref()).toBeUndefined()
      yield* pull
    })
  )
)
