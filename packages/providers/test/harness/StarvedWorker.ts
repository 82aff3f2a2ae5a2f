/** Runs a named task on a thread with little memory, and reports its result. */
import { TextBuffer } from "@holdfast/kernel/host"
import { Effect } from "effect"
import { parentPort, workerData } from "node:worker_threads"
import * as AnthropicResponse from "../../src/anthropic/Response.ts"
import * as SseParser from "../../src/decoding/SseParser.ts"
import * as OpenAiResponse from "../../src/openai/Response.ts"
import * as Undici from "../../src/http/Undici.ts"
import { anthropicMessages, openAiCompatible } from "./Dialect.ts"
import { heapUsed } from "./Heap.ts"
import { run } from "./AttemptRun.ts"
import { pieces, serve } from "./Server.ts"
import type { Task } from "./Starved.ts"

/** As a tree of appended pieces these would take more than the available memory: 67 MB. */
const PIECES = 2_000_000

const call = (make: typeof OpenAiResponse.make, [first, next]: readonly [string, string]) => {
  const machine = make(String)
  const frameOf = (text: string) => JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? "")
  machine.frame(frameOf(first), undefined, [])
  const frame = frameOf(next)
  for (let i = 0; i < PIECES; i++) machine.frame(frame, undefined, [])
  return machine.kept()
}

const held = (piece: string) => {
  const stream = SseParser.make(() => {})
  const bytes = new TextEncoder().encode(piece)
  for (let i = 0; i < PIECES; i++) stream.feed(bytes)
  return stream.held()
}

const tasks: { readonly [Name in Task]: () => number | Promise<number> } = {
  text: () => {
    const buffer = new TextBuffer.TextBuffer()
    for (let i = 0; i < PIECES; i++) buffer.append("x")
    return buffer.length
  },
  openAiCall: () => call(OpenAiResponse.make, openAiCompatible.endlessCall("x")),
  anthropicCall: () => call(AnthropicResponse.make, anthropicMessages.endlessCall("x")),
  dataLines: () => held("data:\n"),
  reads: () => held("x"),
  errors: () =>
    Effect.gen(function* () {
      const words = `Overloaded, come back later.${" ".repeat(4_000_000)}`
      const server = yield* serve((response, request, n) => pieces([`data: ${words}\n\n`])(response, request, n))
      const provider = yield* openAiCompatible.make(server.url)
      const kept: Array<unknown> = []
      const fail = Effect.map(run(provider), ({ emitted }) => kept.push(emitted))
      yield* fail
      const before = heapUsed()
      for (let i = 0; i < 8; i++) yield* fail
      const after = heapUsed()
      return kept.includes(undefined) ? Infinity : after - before
    }).pipe(Effect.scoped, Effect.provide(Undici.layer), Effect.runPromise)
}

const { task }: { readonly task: Task } = workerData
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
parentPort?.postMessage(await tasks[task]())
