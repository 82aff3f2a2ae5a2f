/**
 * Kills the process of a turn at every point, and at every pair of points.
 *
 * There are two turns of three steps. The steps of the first have a failure and two tools; two failures, a wait that asks, a longer budget
 * and another target; a failure and a wait that is moved. The steps of the second have a switch, a compaction with a wait and two tools;
 * text instead of a report, and a rejected report; and the final step. A turn's log is cut after each entry: a record, a write, a delta
 * or the effect of a tool.
 */
import { assert, describe, it } from "@effect/vitest"
import { Life, ScriptedProvider, TestRouter } from "@holdfast/kernel/testing"
import { Ids, Message, type TurnEvent } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import * as Compactor from "../src/ports/Compactor.ts"
import { FinalReport } from "../src/ports/FinalReport.ts"
import * as ModelContext from "../src/turn/ModelContext.ts"

const { badGateway, call, emits, finish, overloaded, text, throws } = ScriptedProvider

const by = { commandId: "k", origin: "a test" }
const other = { provider: "other", model: "big" }
const MOVED_TO = 100_000
const question = { because: "request", tokens: 9, limit: 1, message: "May it go on?" } as const

const asks = (said: string, ...names: ReadonlyArray<string>): ScriptedProvider.Script => ({
  reads: [[text(said)], [...names.map((name) => call(name)), { type: "finish", finishReason: "tool-calls" }]],
  end: Effect.void
})

/** A turn, and its expected results. */
interface Case {
  readonly title: string
  readonly world: Life.World
  /** The text that a client has assembled in the end. */
  readonly said: string
  /** In the order in which they are written. */
  readonly records: ReadonlyArray<string>
  /** Kinds of entries in its log. */
  readonly kinds: number
  /** Calls that must not run twice, by the name of their record. */
  readonly once: ReadonlyArray<readonly [name: string, toolCallId: string]>
  /** Once it is recorded, nothing can be aborted. */
  readonly last: string
  /** A decision that opens a chain, and the attempt that closes it. */
  readonly chain: readonly [opens: string, closes: string]
}

const waits: Case = {
  title: "a turn that waits and runs tools",
  said: "One. Two. Three.",
  kinds: 6,
  once: [
    ["step/0/tool/0", "call-pay"],
    ["step/1/tool/0", "call-send"]
  ],
  last: "step/2/attempt/1",
  chain: ["step/2/decision/0", "step/2/attempt/1"],
  records: [
    "step/0/attempt/0",
    "step/0/decision/0",
    "step/0/sleep/0",
    "step/0/attempt/1/content",
    "step/0/attempt/1",
    "step/0/tool/0/begun",
    "step/0/tool/1/begun",
    "step/0/tool/1",
    "step/0/tool/0",
    "step/1/attempt/0",
    "step/1/decision/0",
    "step/1/sleep/0",
    "step/1/sleep/0/1",
    "step/1/attempt/1",
    "step/1/decision/1",
    "step/1/sleep/1",
    "step/1/sleep/1/1",
    "step/1/attempt/2/content",
    "step/1/attempt/2",
    "step/1/tool/0/begun",
    "step/1/tool/0",
    "step/2/attempt/0",
    "step/2/decision/0",
    "step/2/sleep/0",
    "step/2/sleep/0/1",
    "step/2/attempt/1/content",
    "step/2/attempt/1",
    "seal"
  ],
  world: {
    scripts: [
      emits(overloaded),
      asks("One. ", "pay", "look"),
      throws(badGateway),
      emits(overloaded),
      asks("Two. ", "send"),
      emits(overloaded),
      { reads: [[text("Thr")], [text("ee.")], [finish]], end: Effect.void }
    ],
    delays: [1_000, 2_000],
    wakeOf: (name) => {
      if (name === "step/1/sleep/0/1") return { type: "now", by: { ...by, commandId: "k0" } }
      if (name === "step/1/sleep/1") return { type: "extended", byMs: 500, by: { ...by, commandId: "k1" } }
      if (name === "step/1/sleep/1/1") return { type: "switched", target: other, by: { ...by, commandId: "k2" } }
      if (name === "step/2/sleep/0") return { type: "until", until: MOVED_TO, by: { ...by, commandId: "k3" } }
      return undefined
    },
    // In the second step.
    ask: ({ request: { messages }, waitedMs }) =>
      messages.length === 3 ? { asks: { ...question, waitedMs }, answerWithinMs: 10_000 } : undefined,
    tools: [
      { name: "pay", inputSchema: {} },
      { name: "look", inputSchema: {}, isIdempotent: true },
      { name: "send", inputSchema: {} }
    ],
    tookMs: (name) => (name === "pay" ? 20 : 10)
  }
}

const overflow = { reason: "context-overflow", message: "prompt is too long", retryable: false } as const

const handsIn = (said: string, input: object | string): ScriptedProvider.Script => ({
  reads: [
    [text(said)],
    [
      { type: "tool-call", toolCallId: "call-report", toolName: "report", input: JSON.stringify(input) },
      { type: "finish", finishReason: "tool-calls" }
    ]
  ],
  end: Effect.void
})

/** Switches at once, then waits; each step begins on the turn's own target. */
const router = new TestRouter.TestRouter({
  begin: ({ primary }) => ({ route: { target: primary } }),
  direct: ({ failure, retries }) =>
    failure.reason === "overloaded" && retries === 0
      ? { delayMs: 0, route: { target: other, role: "default" }, state: { cursor: 1 } }
      : { delayMs: 1_000 * (retries + 1) }
})

const report = Layer.succeed(FinalReport, {
  tool: { name: "report", inputSchema: {} },
  validate: (value) => (value === '{"ok":true}' ? undefined : "it is not ok")
})

const reports: Case = {
  title: "a turn that switches, is compacted and ends with a report",
  said: "One. Words. Two. Three.",
  kinds: 5,
  once: [["step/0/tool/0", "call-pay"]],
  last: "step/2/tool/0",
  chain: ["step/1/decision/0", "step/1/attempt/1"],
  records: [
    "step/0/route",
    "step/0/attempt/0",
    "step/0/decision/0",
    "step/0/attempt/1",
    "step/0/compaction/2",
    "step/0/decision/2",
    "step/0/sleep/2",
    "step/0/compaction/3",
    "step/0/attempt/4/content",
    "step/0/attempt/4",
    "step/0/tool/0/begun",
    "step/0/tool/1/begun",
    "step/0/tool/1",
    "step/0/tool/0",
    "step/1/route",
    "step/1/attempt/0/content",
    "step/1/attempt/0",
    "step/1/decision/0",
    "step/1/sleep/0",
    "step/1/attempt/1/content",
    "step/1/attempt/1",
    "step/1/tool/0",
    "step/2/final",
    "step/2/route",
    "step/2/attempt/0/content",
    "step/2/attempt/0",
    "step/2/tool/0",
    "seal"
  ],
  world: {
    scripts: [
      emits(overloaded),
      throws(overflow),
      emits(badGateway),
      { reads: [[text("They ")], [text("talked.")], [finish]], end: Effect.void },
      asks("One. ", "pay", "look"),
      { reads: [[text("Words. ")], [finish]], end: Effect.void },
      handsIn("Two. ", "bad"),
      handsIn("Three.", { ok: true })
    ],
    delays: [],
    wakeOf: () => undefined,
    tools: [
      { name: "pay", inputSchema: {} },
      { name: "look", inputSchema: {}, isIdempotent: true }
    ],
    tookMs: (name) => (name === "pay" ? 20 : 10),
    history: [
      {
        role: "user",
        id: Ids.messageIdOf(Ids.TurnId.make("t0"), 0),
        turnId: Ids.TurnId.make("t0"),
        createdAt: 0,
        content: [{ type: "text", text: "Before." }]
      }
    ],
    services: Layer.mergeAll(router.layer, report, Compactor.summarising())
  }
}

/** How long the process is down, in milliseconds: 0, less than any wait, more than every wait. */
const AWAY = [0, 300, 200_000]

const isIdempotent = (toolCallId: string) => toolCallId === "call-look"

// --- the expected results

/** The text that a client has assembled: the shown text without the discarded text. */
const assembled = (log: Life.LifeLog): string => {
  let finished = ""
  let current = ""
  for (const event of eventsOf(log)) {
    if (event.type === "text-delta") current += event.delta
    if (event.type === "step-start" || event.type === "step-discarded") current = ""
    if (event.type === "message") {
      finished += current
      current = ""
    }
  }
  return finished
}

/** The texts of the model in the history. */
const textsOf = (events: ReadonlyArray<TurnEvent.TurnEvent>): string =>
  events
    .map((event) =>
      event.type === "message" && event.message.role === "assistant" ? Message.textOf(event.message) : ""
    )
    .join("")

const eventsOf = (log: Life.LifeLog): ReadonlyArray<TurnEvent.TurnEvent> =>
  log.flatMap((entry): ReadonlyArray<TurnEvent.TurnEvent> => {
    if (entry._tag === "Live") return [entry.event]
    return entry._tag === "Persist" ? entry.events : []
  })

const settled = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all.filter((one, i) => JSON.stringify(one) !== JSON.stringify(all[i - 1]))

/** The spending that the strategy received. If it was asked again about a decision that was not recorded, it received the same. */
const budgets = (log: Life.LifeLog) =>
  settled(
    log.flatMap((entry) =>
      entry._tag === "Asked" ? [[entry.attempt, entry.spent?.sleptMs, entry.spent?.extendedMs]] : []
    )
  )

/** The events of each retry, by the record that it follows. An event that was emitted again after a death is the same. */
const retries = (log: Life.LifeLog): ReadonlyMap<string, ReadonlyArray<unknown>> => {
  const told = new Map<string, Array<unknown>>()
  let record = ""
  for (const entry of log) {
    if (entry._tag === "Record") record = entry.name
    if (entry._tag === "Record" && isTold(entry.value)) told.set(record, [])
    if (entry._tag !== "Live" || entry.event.type !== "provider-retry") continue
    const { attempt, target } = entry.event
    told.get(record)?.push([attempt, target])
  }
  return told
}

/** Whether a record is a retry, or the change of the end of its wait. */
const isTold = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  (Reflect.get(value, "_tag") === "Retry" || ["until", "asked"].includes(Reflect.get(value, "type")))

/** Whether a life died between a record and its event: the end of the wait may have passed since. */
const isUntold = (death: Life.LifeLog, name: string): boolean => {
  const last = death.findLast((entry) => entry._tag === "Record")
  return last?.name === name && retries(death).get(name)?.length === 0
}

/** Calls without a result at the beginning of a life that must not run twice. */
const unknownOutcomes = ({ once }: Case, { records }: Life.Disk): ReadonlyArray<string> =>
  once.flatMap(([name, id]) => (records.has(`${name}/begun`) && !records.has(name) ? [id] : []))

const losses = ({ records }: Life.Disk): number => Array.from(records.values()).filter(Life.isLost).length

/** Events as text, without the values that a death may change: times, and in the seal the number of attempts and the time waited. */
const timeless = (events: ReadonlyArray<TurnEvent.TurnEvent>): string =>
  JSON.stringify(events, (key, value: unknown) =>
    ["createdAt", "endedAt", "attempts", "waitedMs"].includes(key) ? 0 : value
  )

/** The same text with the results of interrupted calls. */
const withUnknown = (events: ReadonlyArray<TurnEvent.TurnEvent>, unknown: ReadonlySet<string>): string =>
  JSON.stringify(JSON.parse(timeless(events)), (_key, value: unknown) =>
    typeof value === "object" &&
    value !== null &&
    "output" in value &&
    unknown.has(String(Reflect.get(value, "toolCallId")))
      ? { ...value, output: ModelContext.INTERRUPTED, isError: true }
      : value
  )

/** Asserts that a turn with `deaths` has the same results as the uninterrupted one. */
const assertLegal = (given: Case, straight: Life.Life, deaths: ReadonlyArray<Life.LifeLog>, life: Life.Life): void => {
  const { log, disk, end } = life
  const lost = losses(disk)
  const unknown = new Set(deaths.flatMap((death) => unknownOutcomes(given, Life.diskOf(death))))

  // Sealed once, with the same events at the same positions except for discarded text.
  assert.strictEqual(end.status, "completed")
  assert.strictEqual(disk.persisted.filter(({ type }) => type === "turn-end").length, 1)
  assert.deepStrictEqual(disk.persisted.at(-1), end)
  const kept = disk.persisted.filter(({ type }) => type !== "step-discarded")
  assert.strictEqual(disk.persisted.length - kept.length, lost)
  assert.strictEqual(timeless(kept), withUnknown(straight.disk.persisted, unknown))

  // X2: no client has assembled the same words twice.
  assert.strictEqual(assembled(log), given.said)
  // X8
  for (const [id, times] of Map.groupBy(
    log.filter((entry) => entry._tag === "Tool"),
    ({ toolCallId }) => toolCallId
  )) {
    if (!isIdempotent(id)) assert.strictEqual(times.length, 1, id)
  }
  // Attempts and budget continue from where they were.
  assert.strictEqual(end.attempts, straight.end.attempts + lost)
  assert.strictEqual(end.sleptMs, straight.end.sleptMs)
  assert.deepStrictEqual(budgets(log), budgets(straight.log))
  const expected = Array.from(retries(straight.log).values(), ([first]) => first)
  const told = Array.from(retries(log))
  assert.strictEqual(told.length, expected.length)
  for (const [i, [name, events]] of told.entries()) {
    for (const event of events) assert.deepStrictEqual(event, expected[i])
    if (events.length === 0)
      assert.isTrue(
        deaths.some((death) => isUntold(death, name)),
        name
      )
  }
  // X1: a sleep is the rest of its wait.
  for (const [i, entry] of log.entries()) {
    if (entry._tag !== "Sleep") continue
    const before = log[i - 1]
    const told = log.slice(0, i).findLast((each) => each._tag === "Live" && each.event.type === "provider-retry")
    const leftMs =
      told?._tag === "Live" && told.event.type === "provider-retry" ? Math.max(0, told.event.retryAt - entry.at) : 0
    // A wait whose end has passed is not announced again, and has no sleep left. An extended wait keeps its end: it is not announced either.
    if (before?._tag === "Live" && before.event.type === "provider-retry") assert.strictEqual(entry.delayMs, leftMs)
    else assert.include([0, leftMs], entry.delayMs)
  }
  // A call with an outcome is not made again.
  const last = deaths.at(-1)
  const known = last === undefined ? 0 : Life.answered(Life.diskOf(last))
  assert.strictEqual(life.requests.length, given.world.scripts.length - known)
}

/** Every prefix of a log that is longer than `from`. */
const cuts = (log: Life.LifeLog, from: number): ReadonlyArray<Life.LifeLog> =>
  log.slice(from).map((_, i) => log.slice(0, from + i))

/** Whether the last entry changed the disk. */
const hasJustWritten = (log: Life.LifeLog): boolean => {
  const last = log.at(-1)
  return last?._tag === "Record" || last?._tag === "Persist"
}

const where = (...deaths: ReadonlyArray<Life.LifeLog>): string =>
  deaths.map((death) => `it died behind entry ${death.length}, ${JSON.stringify(death.at(-1))}`).join("\nthen ")

const judged = (judge: () => void, ...deaths: ReadonlyArray<Life.LifeLog>): void => {
  try {
    judge()
  } catch (cause) {
    throw new Error(where(...deaths), { cause })
  }
}

for (const given of [waits, reports]) {
  const { chain, kinds, last, records, title, world } = given
  describe(`a process that dies after any entry of the log of ${title}`, () => {
    it.effect("the log has every kind of entry and record", () =>
      Effect.gen(function* () {
        const { log, disk } = yield* Life.live([], world)
        assert.deepStrictEqual(new Set(log.map(({ _tag }) => _tag)).size, kinds)
        assert.deepStrictEqual(Array.from(disk.records.keys()), records)
      })
    )

    it.effect("rule X1: the turn continues from each of them to the same seal, however long it was away", () =>
      Effect.gen(function* () {
        const straight = yield* Life.live([], world)
        assertLegal(given, straight, [], straight)
        for (const death of cuts(straight.log, 0)) {
          for (const awayMs of AWAY) {
            const life = yield* Life.live(death, world, { awayMs })
            judged(() => assertLegal(given, straight, [death], life), death)
          }
        }
      })
    )

    it.effect("rule X1: the same when it dies a second time, after any write of its recovery", () =>
      Effect.gen(function* () {
        const straight = yield* Life.live([], world)
        let pairs = 0
        for (const first of cuts(straight.log, 0).filter(hasJustWritten)) {
          const second = yield* Life.live(first, world, { awayMs: 300 })
          for (const death of cuts(second.log, first.length).filter(hasJustWritten)) {
            const third = yield* Life.live(death, world)
            judged(() => assertLegal(given, straight, [first, death], third), first, death)
            pairs++
          }
        }
        assert.isAbove(pairs, 500)
      })
    )

    it.effect("rule D8: an abort at the start of the next life seals the turn after its earlier events", () =>
      Effect.gen(function* () {
        const straight = yield* Life.live([], world)
        for (const death of cuts(straight.log, 0)) {
          const before = Life.diskOf(death)
          const life = yield* Life.live(death, world, { abort: Effect.void })
          judged(() => {
            const { persisted } = life.disk
            const isSealed = before.persisted.at(-1)?.type === "turn-end"
            // The last answer was recorded, so there was nothing left to abort.
            const isOver = before.records.has(last)
            assert.strictEqual(life.end.status, isOver ? "completed" : "aborted")
            assert.deepStrictEqual(persisted.slice(0, before.persisted.length), before.persisted)
            assert.strictEqual(persisted.filter(({ type }) => type === "turn-end").length, 1)
            assert.strictEqual(persisted.at(-1)?.type, "turn-end")
            assert.isFalse(isSealed && persisted.length > before.persisted.length)
            assert.strictEqual(life.requests.length, 0)
            // X2: a response that the death cut off is not kept, and a client that received part of it gets `step-discarded`.
            assert.strictEqual(assembled(life.log), textsOf(persisted))
            assert.strictEqual(
              life.log.filter(({ _tag }) => _tag === "Tool").length,
              death.filter(({ _tag }) => _tag === "Tool").length
            )
            // P11
            const opened = before.records.has(chain[0]) && !before.records.has(chain[1])
            if (opened) assert.isTrue(persisted.some(({ type }) => type === "retry-end"))
          }, death)
        }
      })
    )
  })
}
