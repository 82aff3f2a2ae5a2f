/** Tests tool calls that a person has to approve. */
import { assert, describe, it } from "@effect/vitest"
import { PureTurn, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import type { TurnEvent } from "@holdfast/wire"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Toolbox } from "../src/ports/Toolbox.ts"
import type * as Machine from "../src/turn/Machine.ts"
import { eventsOf, law, of, turns } from "./PureTurnLaw.ts"

/** Whether a tool needs approval, by these offers. */
const needsApproval = ({ tools }: Machine.Offers, toolName: string) =>
  tools.some(({ confirmWithinMs, name }) => name === toolName && confirmWithinMs !== undefined)

describe("a tool call that needs approval", () => {
  const by = { commandId: "k1", origin: "a test" }
  const answered = { type: "answered", toolCallId: "call-send", by } as const
  for (const [what, wake, refusal] of [
    ["is approved", { ...answered, approved: true }, undefined],
    ["is refused", { ...answered, approved: false }, "A person refused this call."],
    ["is refused with a reason", { ...answered, approved: false, reason: "No" }, "A person refused this call: No"],
    ["is given up", { type: "cancelled", by }, "A person refused this call."],
    ["gets no answer", undefined, "No person approved this call within 5 s."]
  ] as const) {
    Scenario.bothWays(`rule P11, X8: that ${what} was asked about once, and runs only if it is approved`, (start) =>
      Effect.gen(function* () {
        const { run, strategy } = yield* sending(start)
        const [event, ...others] = run.sink.of("provider-retry")
        assert.deepStrictEqual(others, [])
        const quoted = `${JSON.stringify(LONG).slice(0, 200)}…`
        const calls = [{ toolCallId: "call-send", toolName: "send", quoted }]
        const message = `A person has to approve send ${quoted}.`
        const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message, calls } as const
        assert.deepInclude(event, { asks, message, attempt: 0, delayMs: 5_000, retryAt: 5_000 })
        yield* TestClock.adjust(wake === undefined ? 5_000 : 1_000)
        if (wake !== undefined) yield* strategy.wake(wake)
        assert.strictEqual((yield* Fiber.join(run.fiber)).status, "completed")
        const [result] = run.sink.of("tool-result")
        assert.deepInclude(result, { output: refusal ?? "sent", isError: refusal !== undefined })
        assert.deepStrictEqual(
          run.sink.of("retry-end").map(({ attempt, success }) => [attempt, success]),
          [[0, true]]
        )
      })
    )
  }

  Scenario.bothWays("rule X8: is refused where no strategy can ask", (start) =>
    Effect.gen(function* () {
      const { run } = yield* sending(start, false)
      assert.deepInclude(run.sink.of("tool-result")[0], {
        output: "This call needs the approval of a person, and there is no way to ask here.",
        isError: true
      })
    })
  )
})

describe("tool calls that need approval", () => {
  law("rule X8: none runs, and none is marked as begun, before a person has approved it", turns, ({ entries }) => {
    const approved = new Set<string>()
    for (const { command, ledger, offers, record } of entries) {
      if (record.kind === "Wake" && record.value.type === "answered" && record.value.approved)
        approved.add(record.value.toolCallId)
      if (command?._tag !== "RunTool" || ledger.phase._tag !== "Tools") continue
      const { approval, begun, call } = command
      if (begun !== undefined || ledger.isFinal || !needsApproval(offers, call.toolName)) continue
      if (approval?.refusal === undefined) assert.isTrue(approved.has(call.toolCallId))
      else assert.notStrictEqual(record.kind, "Begun")
    }
  })

  law("a question waits for no call that can run, and is the only open command", turns, ({ entries }) => {
    for (const { commands, ledger, offers } of entries) {
      const question = commands.find(({ _tag }) => _tag === "Ask")
      if (question === undefined) continue
      assert.strictEqual(commands.length, 1)
      assert.isTrue(offers.hasStrategy)
      if (ledger.phase._tag !== "Tools" || question._tag !== "Ask" || question.event !== undefined) continue
      const { calls, results } = ledger.phase.round
      const open = calls.filter((_, i) => results[i] === undefined)
      assert.isTrue(open.some(({ toolName }) => needsApproval(offers, toolName)))
    }
  })

  law("rule P11: a question is open from its event to its retry-end, or to the seal", turns, (turn) => {
    const open: Array<TurnEvent.Asks> = []
    for (const [i, { command, record }] of turn.entries.entries()) {
      const emitted = turn.entries[i + 1]?.emissions ?? []
      if (command?._tag !== "Ask") continue
      if (command.event === undefined && record.kind === "Wake") open.push(command.asks)
      const isClosed = eventsOf(emitted).some(({ type }) => type === "retry-end")
      if (command.event !== undefined) {
        assert.strictEqual(open.length, 1)
        const { asks } = command.event
        assert.isNotEmpty(asks?.calls)
        assert.strictEqual(command.event.message, asks?.message)
        const after = (turn.entries[i + 1]?.ledger ?? turn.end).phase
        const isOver = after._tag !== "Tools" || after.round.asked === undefined
        if (record.kind === "Wake") assert.strictEqual(isClosed, isOver)
        if (isOver) open.pop()
      }
    }
  })

  law("every call of a finished round has a result, and a refusal is a failed one", turns, (turn) => {
    const refusals = new Map(
      turn.entries.flatMap(({ command }) =>
        command?._tag === "RunTool" && command.approval?.refusal !== undefined
          ? [[command.call.toolCallId, command.approval.refusal] as const]
          : []
      )
    )
    for (const { isError, output, toolCallId } of of(turn, "tool-result")) {
      const refusal = refusals.get(toolCallId)
      if (refusal !== undefined) assert.deepStrictEqual({ isError, output }, { isError: true, output: refusal })
    }
  })

  it("rule P11: a question that there is no way to ask any more is closed before the seal", () => {
    // The process that asks has a strategy, and the next process has none.
    const choices = Array.from({ length: 50 }, () => 0)
    for (const [at, choice] of [
      [5, 1490],
      [11, 1],
      [25, 2094],
      [26, 3563],
      [27, 7308],
      [29, 1589],
      [48, 5351],
      [49, 941]
    ] as const)
      choices[at] = choice
    const report = { tool: { name: PureTurn.REPORT, inputSchema: {} }, validate: () => undefined }
    const { emissions, entries } = PureTurn.play({
      facts: { ...FACTS, maxRetries: 5, limits: { maxFailedToolSteps: 0 }, report },
      offers: { tools: PureTurn.TOOLS, hasRouter: false, hasStrategy: true, hasCompactor: false },
      choices,
      isSteady: false
    })
    assert.isTrue(entries.some(({ command, record }) => command?._tag === "Ask" && record.kind === "Wake"))
    const told = eventsOf(emissions).map(({ type }) => type)
    assert.deepStrictEqual(told.slice(-3), ["retry-end", "message", "turn-end"])
  })

  it("the generated turns ask, approve, refuse and let questions pass", () => {
    const seen = new Map<string, number>()
    for (let seed = 0; seed < 400; seed++) {
      const choices = Array.from({ length: 120 }, (_, i) => (seed * 7_919 + i * 104_729 + ((seed * i) % 97)) % 10_000)
      const { entries } = PureTurn.play({
        facts: FACTS,
        offers: { tools: PureTurn.TOOLS, hasRouter: false, hasStrategy: true, hasCompactor: false },
        choices,
        isSteady: true
      })
      for (const { command, record } of entries) {
        if (command?._tag !== "Ask" || record.kind !== "Wake") continue
        const { value } = record
        const name = value.type === "answered" ? `${value.type} ${value.approved}` : value.type
        seen.set(name, (seen.get(name) ?? 0) + 1)
      }
    }
    assert.includeMembers(Array.from(seen.keys()), ["answered true", "answered false", "until", "cancelled", "elapsed"])
  })
})

/** Arguments that are too long to be quoted. */
const LONG = { text: "x".repeat(300) }

/** A turn whose model sends something, which a person has to approve within 5 s. */
const sending = (start: Scenario.Start, isAsking = true) =>
  Effect.gen(function* () {
    const strategy = TestStrategy.make()
    const toolbox: Toolbox["Service"] = {
      definitions: [{ name: "send", inputSchema: {}, confirmWithinMs: 5_000 }],
      run: (_, isApproved) => Effect.succeed({ output: isApproved ? "sent" : "sent unasked", isError: false })
    }
    const { answer, call, tools } = ScriptedProvider
    const scripts = [tools(call("send", "call-send", LONG)), answer("ok")]
    const run = yield* start({ scripts, toolbox, ...(isAsking ? { strategy } : undefined) })
    return { run, strategy }
  })

const FACTS: Machine.TurnFacts = {
  conversationId: PureTurn.conversationId,
  turnId: PureTurn.turnId,
  target: { provider: "test", model: "model" },
  history: [],
  prompt: "Hello",
  startedAt: 0
}
