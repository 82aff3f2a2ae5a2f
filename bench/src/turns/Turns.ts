/**
 * Runs short turns of one checkout, in a process of its own: `Turns.ts FOLDER`.
 *
 * It answers each message with the CPU time of a turn. The kernel of the other checkout has its own copy of `effect`, and in a process of
 * its own also its own optimised code. The ports are those of both versions: `delayFor` and `isRecorded` are what bb06790 needs.
 */
import { createRequire } from "node:module"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type * as Journal from "@holdfast/journal"
import type * as Kernel from "@holdfast/kernel"
import type { Provider, Records } from "@holdfast/kernel"
import type * as Eff from "effect"

/** A request for `turns` turns of a row. */
export interface Ask {
  readonly row: Row
  readonly turns: number
}

/** Microseconds of CPU a turn, of all threads of the process. */
export interface Answer {
  readonly us: number
}

/** The kinds of turns. */
export type Row = (typeof ROWS)[number]
export const ROWS = ["delta", "tool", "retries", "journal", "journal-retries", "deltas"] as const

/** The deltas of a turn of the row `deltas`. */
export const DELTAS = 2_000

type Events = Eff.Array.NonEmptyReadonlyArray<Provider.ProviderEvent>

const turnsOf = async (folder: string): Promise<Readonly<Record<Row, () => Promise<unknown>>>> => {
  const load = async <A>(...path: ReadonlyArray<string>): Promise<A> =>
    (await import(pathToFileURL(join(folder, ...path)).href)) as A
  const { Context, Duration, Effect, Stream } = (await import(
    pathToFileURL(createRequire(join(folder, "packages/kernel/package.json")).resolve("effect")).href
  )) as typeof Eff
  const { Checkpoint, EventSink, Provider, RetryStrategy, Toolbox, Turn } =
    await load<typeof Kernel>("packages/kernel/src/index.ts")
  const journal = "packages/journal/src/JournalCheckpoint.ts"
  const JournalCheckpoint = await load<typeof Journal.JournalCheckpoint>(
    existsSync(join(folder, journal)) ? journal : "apps/session-orchestrator/src/durable/JournalCheckpoint.ts"
  )

  const finish: Provider.ProviderEvent = { type: "finish", finishReason: "stop" }
  const answer: Events = [{ type: "text-delta", delta: "Hi" }, finish]
  const call: Events = [
    { type: "tool-call", toolCallId: "1", toolName: "clock", input: { zone: "UTC" } },
    { type: "finish", finishReason: "tool-calls" }
  ]
  const overloaded: Events = [
    { type: "error", failure: { reason: "overloaded", message: "Overloaded.", status: 529, retryable: true } }
  ]
  const delta: Events = [{ type: "text-delta", delta: "word " }]

  let heard = 0
  const memory = Effect.runSync(Effect.provide(Checkpoint.Checkpoint, Checkpoint.layerMemory))
  const strategy = {
    delayFor: () => Duration.seconds(5),
    decide: () => ({ delay: Duration.seconds(5) }),
    sleep: () => Effect.succeed({ type: "elapsed" as const }),
    budget: { measure: "scheduled" as const }
  }
  const ports = Context.empty().pipe(
    Context.add(EventSink.EventSink, {
      live: (event) => {
        if (event.type === "text-delta") heard += event.delta.length
      },
      persist: () => Effect.void
    }),
    Context.add(Toolbox.Toolbox, {
      definitions: [{ name: "clock", description: "Tells the time.", inputSchema: {} } as never],
      run: () => Effect.succeed({ output: "12:00", isError: false })
    })
  )
  const facts = {
    conversationId: "c",
    turnId: "t",
    target: { provider: "bench", model: "m" },
    history: [],
    prompt: "Go",
    startedAt: 0
  } as unknown as Kernel.Turn.TurnInput // ids without their brand: the two checkouts have one each

  /** A checkpoint over an empty journal in memory. In bb06790 `over` takes its options one by one, and returns more than the checkpoint. */
  const recording = (): Kernel.Checkpoint.Checkpoint["Service"] => {
    const records: Array<Records.Stored> = []
    const append = (_: unknown, __: number, ...more: ReadonlyArray<Records.Stored>) =>
      Effect.sync(() => void records.push(...more))
    const options = Object.assign(<A>(appended: A): A => appended, {})
    const given: unknown = [{ append }, facts.turnId, [], options]
    const made = JournalCheckpoint.over(...(given as Parameters<typeof JournalCheckpoint.over>))
    return "checkpoint" in made ? (made.checkpoint as Kernel.Checkpoint.Checkpoint["Service"]) : made
  }
  const turnOver = (
    stream: Kernel.Provider.Provider["Service"]["stream"],
    { isRecorded = false, isWritten = false, retries = false } = {}
  ): (() => Promise<unknown>) => {
    const turn = Turn.runTurn(facts)
    const fixed = ports.pipe(Context.add(Provider.Provider, { stream }), (context) =>
      retries ? Context.add(context, RetryStrategy.RetryStrategy, strategy) : context
    )
    const written = Context.add(fixed, EventSink.EventSink, {
      ...Context.get(fixed, EventSink.EventSink),
      persist: (events) => Effect.sync(() => void (heard += JSON.stringify(events).length))
    })
    const plain = Context.add(isWritten ? written : fixed, Checkpoint.Checkpoint, memory)
    return () =>
      Effect.runPromise(
        Effect.provideContext(
          turn,
          isRecorded ? Context.add(fixed, Checkpoint.Checkpoint, recording()) : plain
        ) as Eff.Effect.Effect<unknown>
      )
  }
  const withTool: Kernel.Provider.Provider["Service"]["stream"] = ({ step }) =>
    Stream.fromArray(step === 0 ? call : answer)
  const failing: Kernel.Provider.Provider["Service"]["stream"] = ({ attempt }) =>
    Stream.fromArray(attempt < 2 ? overloaded : answer)
  const reads = Effect.suspend(() => {
    let left = DELTAS
    const read = Effect.succeed(delta)
    const last = Effect.succeed<Events>([finish])
    return Effect.succeed(Effect.suspend(() => (left-- > 0 ? read : last)))
  })
  return {
    delta: turnOver(() => Stream.fromArray(answer)),
    tool: turnOver(withTool),
    retries: turnOver(failing, { retries: true }),
    journal: turnOver(withTool, { isRecorded: true }),
    "journal-retries": turnOver(failing, { isRecorded: true, retries: true }),
    deltas: turnOver(() => Stream.fromPull(reads), { isWritten: true })
  }
}

if (import.meta.main) {
  const [folder = "."] = process.argv.slice(2)
  const turns = await turnsOf(folder)
  process.on("message", async ({ row, turns: count }: Ask) => {
    const turn = turns[row]
    const start = process.cpuUsage()
    for (let n = 0; n < count; n++) await turn()
    const { system, user } = process.cpuUsage(start)
    const answer: Answer = { us: (user + system) / count }
    process.send?.(answer)
  })
  process.on("disconnect", () => process.exit(0))
}
