/**
 * The turn loop against a bare async-generator loop that does the same: two steps of 200 deltas, a tool call between
 * them, every delta handed to a sink, the text put together, the messages kept.
 *
 * Not measured: sockets, parsing, encoding, disk. The provider hands over arrays of events, as an adapter does that turns
 * one read of a socket into one array; the bare loop's generator yields one by one, which is all that it can.
 */
import { Checkpoint, EventSink, Provider, Toolbox, Turn } from "@holdfast/kernel"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { type Array as Arr, Cause, Effect, Layer, type Pull, Stream } from "effect"
import * as Report from "./Report.ts"

const DELTAS = 200
const TURNS = 2_000
const ROUNDS = 5

/** Deltas a read: one by one, as a slow model sends them; a few; and as they come when the network lags. */
const READS = [1, 4, 20]

const words = Array.from({ length: DELTAS }, (_, i) => `word ${i} `)

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  const bare = await measure(bareTurn)
  const rows: Array<Report.Row> = []
  for (const size of READS) {
    const holdfast = await measure(holdfastTurn(size))
    rows.push({
      what: `time a delta, ${size} a read`,
      holdfast: holdfast.ns,
      bare: bare.ns,
      unit: "ns",
      aim: { atMost: 1 }
    })
    rows.push({
      what: `allocated a delta, ${size} a read`,
      holdfast: holdfast.bytes,
      bare: bare.bytes,
      unit: "B",
      aim: undefined
    })
  }
  Report.print(
    "Turn loop, in process: 2 steps of 200 deltas with a tool call between, against a bare async generator",
    rows
  )
}

// --- internal

interface Figures {
  readonly ns: number
  readonly bytes: number
}

/** Time and allocation a delta, as medians of some rounds after one to warm up. */
const measure = async (turn: () => Promise<unknown>): Promise<Figures> => {
  const times: Array<number> = []
  for (let round = 0; round <= ROUNDS; round++) {
    globalThis.gc?.()
    const start = process.hrtime.bigint()
    for (let i = 0; i < TURNS; i++) await turn()
    if (round > 0) times.push(Number(process.hrtime.bigint() - start) / (TURNS * 2 * DELTAS))
  }
  return { ns: Report.median(times), bytes: await allocation(turn) }
}

/** The heap's growth over turns that are few enough for no collection to fall between. */
const allocation = async (turn: () => Promise<unknown>): Promise<number> => {
  const samples: Array<number> = []
  for (let i = 0; i < 50; i++) {
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    await turn()
    samples.push((process.memoryUsage().heapUsed - before) / (2 * DELTAS))
  }
  return Report.median(samples.filter((bytes) => bytes > 0))
}

let heard = 0
const sink = (event: { readonly delta: string }): void => {
  heard += event.delta.length
}

// --- the bare loop

async function* bareProvider(step: number) {
  for (const delta of words) yield { type: "text-delta", delta } as const
  if (step === 0) yield { type: "tool-call", toolCallId: "1", toolName: "clock", input: {} } as const
  yield { type: "finish" } as const
}

const bareTurn = async (): Promise<ReadonlyArray<unknown>> => {
  const messages: Array<unknown> = [{ role: "user", content: "Go" }]
  for (let step = 0; ; step++) {
    let text = ""
    let call: object | undefined
    for await (const event of bareProvider(step)) {
      if (event.type === "text-delta") {
        text += event.delta
        sink({ ...ids, type: "text-delta", delta: event.delta } as TurnEvent.TextDelta)
      } else if (event.type === "tool-call") {
        call = event
      }
    }
    messages.push({ role: "assistant", content: [{ type: "text", text }, ...(call === undefined ? [] : [call])] })
    if (call === undefined) return messages
    messages.push({ role: "tool", content: [await bareTool()] })
  }
}

const bareTool = async () => ({ output: "12:00", isError: false })

// --- ours

const ids = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }

const holdfastTurn = (size: number): (() => Promise<unknown>) => {
  const turn = Turn.runTurn({
    ...ids,
    target: { provider: "bench", model: "m" },
    history: [],
    prompt: "Go",
    startedAt: 0
  }).pipe(
    Effect.provide(
      Layer.mergeAll(
        Checkpoint.layerMemory,
        Layer.succeed(EventSink.EventSink, {
          live: (event) => {
            if (event.type === "text-delta") sink(event)
          },
          persist: () => Effect.void
        }),
        Layer.succeed(Toolbox.Toolbox, {
          definitions: [],
          run: () => Effect.succeed({ output: "12:00", isError: false })
        }),
        Layer.succeed(Provider.Provider, { stream: ({ step }) => Stream.fromPull(Effect.succeed(reads(step, size))) })
      )
    )
  )
  return () => Effect.runPromise(turn)
}

type Events = Arr.NonEmptyReadonlyArray<Provider.ProviderEvent>

/** Makes its events as it goes, like the bare one. */
const reads = (step: number, size: number): Pull.Pull<Events> => {
  let next = 0
  return Effect.suspend((): Pull.Pull<Events> => {
    const delta = words[next++]
    if (delta === undefined) return next > DELTAS + 1 ? Cause.done() : Effect.succeed(ending(step))
    const events: [Provider.ProviderEvent, ...Array<Provider.ProviderEvent>] = [{ type: "text-delta", delta }]
    for (let i = 1; i < size && next < DELTAS; i++) events.push({ type: "text-delta", delta: words[next++] ?? "" })
    return Effect.succeed(events)
  })
}

const ending = (step: number): Events =>
  step === 0
    ? [
        { type: "tool-call", toolCallId: "1", toolName: "clock", input: {} },
        { type: "finish", finishReason: "tool-calls" }
      ]
    : [{ type: "finish", finishReason: "stop" }]
