/**
 * The turn loop against a bare async-generator loop that does the same: two steps of 200 deltas, a tool call between
 * them, every delta handed to a sink, the text put together, the messages kept.
 *
 * Not measured: sockets, parsing, encoding, disk; nor the wiring, which a process does once. The provider hands over arrays
 * of events, as an adapter does that turns one read of a socket into one array. There are two bare loops: one is handed
 * events one by one, as the SDKs of providers hand them over, and is what is aimed at; the other is handed the same arrays,
 * and is the limit of what can be had.
 *
 * The second table has the CPU of short turns, beside another checkout with `--beside`: `turns/Turns.ts` runs them.
 *
 * No collection is forced: it throws away optimised code with the hidden classes that only passing objects had, so that what
 * follows for thousands of turns is the compiler at work, and not the loop.
 */
import { Checkpoint, EventSink, Machine, Provider, type Records, Toolbox, Turn } from "@holdfast/kernel"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { type Array as Arr, Cause, Context, Effect, type Pull, Stream } from "effect"
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import * as FigureTable from "./FigureTable.ts"
import * as Rounds from "./Rounds.ts"
import * as Trees from "./Trees.ts"
import { type Answer, type Ask, type Row as TurnRow, ROWS } from "./turns/Turns.ts"

const DELTAS = 200
const TURNS = 2_000
const ROUNDS = 5
/** Until the compiler is through with either loop. */
const WARM_UP_ROUNDS = 5

/** Deltas a read: one by one, as a slow model sends them; a few; and as they come when the network lags. */
const READS = [1, 4, 20]

const words = Array.from({ length: DELTAS }, (_, i) => `word ${i} `)

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  const rows: Array<FigureTable.Row> = []
  for (const size of READS) {
    const loops = [new Timed(holdfastTurn(size)), new Timed(bareTurn), new Timed(bareArraysTurn(size))] as const
    // Round by round, so that a busy moment of the machine falls on all of them.
    for (let i = 0; i < WARM_UP_ROUNDS + ROUNDS; i++) for (const loop of loops) await loop.round(i >= WARM_UP_ROUNDS)
    const [holdfast, bare, arrays] = [await loops[0].figures(), await loops[1].figures(), await loops[2].figures()]
    rows.push({
      what: `time a delta, ${size} a read`,
      holdfast: holdfast.ns,
      bare: bare.ns,
      unit: "ns",
      aim: { atMost: 1 }
    })
    rows.push({
      what: "  against a bare loop over the same arrays",
      holdfast: holdfast.ns,
      bare: arrays.ns,
      unit: "ns",
      aim: undefined
    })
    rows.push({
      what: `allocated a delta, ${size} a read`,
      holdfast: holdfast.bytes,
      bare: bare.bytes,
      unit: "B",
      aim: undefined
    })
  }
  rows.push(...(await fixedCost()))
  FigureTable.print(
    "Turn loop, in process: 2 steps of 200 deltas with a tool call between, against a bare async generator",
    rows
  )
  FigureTable.print("CPU of a turn, in a process of its own for each checkout: all threads", await turnCosts())
}

// --- internal

const WHAT: Readonly<Record<TurnRow, string>> = {
  delta: "one step, one delta",
  tool: "two steps, a tool call between them",
  retries: "two failures and waits, then an answer",
  journal: "two steps and a tool call, with a journal",
  "journal-retries": "two failures and waits, with a journal",
  deltas: "2,000 deltas, one a read, written as JSON at the end"
}

/** Short rounds, of which the quickest tenth counts: on a busy machine most rounds are disturbed. */
const turnCosts = async (): Promise<ReadonlyArray<FigureTable.Row>> => {
  const samples = await Trees.each(async ({ folder }) => fork(join(import.meta.dirname, "turns/Turns.ts"), [folder]))
  const measure = (child: ChildProcess | undefined, ask: Ask) =>
    child &&
    (async () => {
      const answered = once(child, "message")
      child.send(ask)
      const [{ us }] = (await answered) as [Answer] // what Turns.ts sends
      return us
    })
  try {
    const rows: Array<FigureTable.Row> = []
    for (const row of ROWS) {
      const ask = { row, turns: row === "deltas" ? 10 : 400 }
      const { here, beside } = await Rounds.alternate(
        { here: measure(samples.here, ask), beside: measure(samples.beside, ask) },
        Rounds.count(80),
        30
      )
      const figure = (each: ReadonlyArray<number>) => (each.length === 0 ? undefined : FigureTable.quantile(each, 0.1))
      rows.push({
        what: WHAT[row],
        holdfast: figure(here) ?? NaN,
        beside: figure(beside),
        bare: undefined,
        unit: "us",
        aim: undefined
      })
    }
    return rows
  } finally {
    samples.here.disconnect()
    samples.beside?.disconnect()
  }
}

/** What a turn costs besides its deltas: one step, one delta. The machine alone is what a driver of many turns as values pays. */
const fixedCost = async (): Promise<ReadonlyArray<FigureTable.Row>> => {
  const turns = [shortTurn(), shortTurn({ abort: Effect.never }), bareShortTurn, machineTurn] as const
  const times = turns.map((): Array<number> => [])
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    for (const [i, turn] of turns.entries()) {
      const start = process.hrtime.bigint()
      for (let n = 0; n < TURNS; n++) await turn()
      if (round >= WARM_UP_ROUNDS) times[i]?.push(Number(process.hrtime.bigint() - start) / TURNS / 1_000)
    }
  }
  const [plain = NaN, abortable = NaN, bare = NaN, machine = NaN] = times.map(FigureTable.median)
  const row = (what: string, us: number): FigureTable.Row => ({ what, holdfast: us, bare, unit: "us", aim: undefined })
  return [
    row("a turn of one delta", plain),
    row("  that can be aborted", abortable),
    row("  the machine alone, without its ports", machine)
  ]
}

interface Figures {
  readonly ns: number
  readonly bytes: number
}

/** A loop, timed: figures are a delta, and medians. */
class Timed {
  private readonly turn: () => Promise<unknown>
  private readonly times: Array<number> = []

  constructor(turn: () => Promise<unknown>) {
    this.turn = turn
  }

  async round(counts: boolean): Promise<void> {
    const start = process.hrtime.bigint()
    for (let i = 0; i < TURNS; i++) await this.turn()
    if (counts) this.times.push(Number(process.hrtime.bigint() - start) / (TURNS * 2 * DELTAS))
  }

  async figures(): Promise<Figures> {
    return { ns: FigureTable.median(this.times), bytes: await allocation(this.turn) }
  }
}

/** The heap's growth over a turn. A turn during which a collection ran shrinks the heap, and is left out. */
const allocation = async (turn: () => Promise<unknown>): Promise<number> => {
  const samples: Array<number> = []
  for (let i = 0; i < 50; i++) {
    const before = process.memoryUsage().heapUsed
    await turn()
    samples.push((process.memoryUsage().heapUsed - before) / (2 * DELTAS))
  }
  return FigureTable.median(samples.filter((bytes) => bytes > 0))
}

let heard = 0
const sink = (event: TurnEvent.TextDelta): void => {
  heard += event.delta.length
}

const conversationId = Ids.ConversationId.make("c")
const turnId = Ids.TurnId.make("t")

// --- the bare loops

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
        sink({ type: "text-delta", conversationId, turnId, delta: event.delta })
      } else if (event.type === "tool-call") {
        call = event
      }
    }
    messages.push({ role: "assistant", content: [{ type: "text", text }, ...(call === undefined ? [] : [call])] })
    if (call === undefined) return messages
    messages.push({ role: "tool", content: [await bareTool()] })
  }
}

async function* bareReads(step: number, size: number) {
  for (let next = 0; next < DELTAS;) {
    const events: Array<Provider.ProviderEvent> = []
    for (let i = 0; i < size && next < DELTAS; i++) events.push({ type: "text-delta", delta: words[next++] ?? "" })
    yield events
  }
  yield ending(step)
}

const bareArraysTurn = (size: number) => async (): Promise<ReadonlyArray<unknown>> => {
  const messages: Array<unknown> = [{ role: "user", content: "Go" }]
  for (let step = 0; ; step++) {
    let text = ""
    let call: object | undefined
    for await (const events of bareReads(step, size)) {
      for (const event of events) {
        if (event.type === "text-delta") {
          text += event.delta
          sink({ type: "text-delta", conversationId, turnId, delta: event.delta })
        } else if (event.type === "tool-call") {
          call = event
        }
      }
    }
    messages.push({ role: "assistant", content: [{ type: "text", text }, ...(call === undefined ? [] : [call])] })
    if (call === undefined) return messages
    messages.push({ role: "tool", content: [await bareTool()] })
  }
}

const bareTool = async () => ({ output: "12:00", isError: false })

// --- ours

const facts = {
  conversationId,
  turnId,
  target: { provider: "bench", model: "m" },
  history: [],
  prompt: "Go",
  startedAt: 0
}

const turnOver = (
  stream: Provider.Provider["Service"]["stream"],
  abort: { readonly abort?: Effect.Effect<void> } = {}
): (() => Promise<unknown>) => {
  const turn = Turn.runTurn({ ...facts, ...abort }).pipe(
    Effect.provide(
      Context.empty().pipe(
        Context.add(Checkpoint.Checkpoint, checkpoint),
        Context.add(EventSink.EventSink, {
          live: (event) => {
            if (event.type === "text-delta") sink(event)
          },
          persist: () => Effect.void
        }),
        Context.add(Toolbox.Toolbox, {
          definitions: [],
          run: () => Effect.succeed({ output: "12:00", isError: false })
        }),
        Context.add(Provider.Provider, { stream })
      )
    )
  )
  return () => Effect.runPromise(turn)
}

const holdfastTurn = (size: number): (() => Promise<unknown>) =>
  turnOver(({ step }) => Stream.fromPull(Effect.succeed(reads(step, size))))

const short: Events = [
  { type: "text-delta", delta: "Hi" },
  { type: "finish", finishReason: "stop" }
]

const shortTurn = (abort?: { readonly abort: Effect.Effect<void> }): (() => Promise<unknown>) =>
  turnOver(() => Stream.fromArray(short), abort)

const bareShortTurn = async (): Promise<unknown> => {
  const messages: Array<unknown> = [{ role: "user", content: "Go" }]
  let text = ""
  for await (const event of bareShort()) {
    if (event.type !== "text-delta") continue
    text += event.delta
    sink({ type: "text-delta", conversationId, turnId, delta: event.delta })
  }
  messages.push({ role: "assistant", content: [{ type: "text", text }] })
  return messages
}

async function* bareShort() {
  yield* short
}

const offers: Machine.Offers = { tools: [], hasRouter: false, hasStrategy: false, hasCompactor: false }

const machineTurn = async (): Promise<unknown> => {
  let { ledger } = Machine.next(Machine.start(facts), offers)
  for (const record of records) ledger = Machine.next(Machine.evolve(ledger, record), offers).ledger
  return ledger.phase
}

const records: ReadonlyArray<Records.TurnRecord> = [
  {
    kind: "Attempt",
    step: 0,
    number: 0,
    value: { _tag: "Completed", content: [{ type: "text", text: "Hi" }], endedAt: 1, finishReason: "stop" }
  },
  { kind: "Seal", step: 0, number: 0, value: { at: 1 } }
]

/** The memory checkpoint of the kernel, built once. */
const checkpoint = Effect.runSync(Effect.provide(Checkpoint.Checkpoint, Checkpoint.layerMemory))

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
