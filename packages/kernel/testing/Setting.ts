/**
 * Generates turns: scripts of their provider, and the services they run on.
 *
 * A router, a compactor, a final report and a limit of steps are there or not. Every script ends, so every turn reaches its seal.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fc from "fast-check"
import { Compactor } from "../src/ports/Compactor.ts"
import { FinalReport } from "../src/ports/FinalReport.ts"
import type { Provider, ProviderEvent } from "../src/ports/Provider.ts"
import * as Summary from "../src/internal/calls/Summary.ts"
import * as ScriptedProvider from "./ScriptedProvider.ts"
import { TestRouter } from "./TestRouter.ts"

/** Milliseconds before each retry of a step: whole seconds, so that a test can advance second by second. */
export const DELAYS = [1_000, 2_000, 3_000]

/** The move of a router after a failure. */
type Move = "stay" | "wait" | "switch" | "credential"

/** A generated turn: its scripts, and the ports it runs on. */
export interface Setting {
  readonly scripts: ReadonlyArray<ScriptedProvider.Script>
  /** Absent: there is no router. */
  readonly moves: ReadonlyArray<Move> | null
  /** Whether a step begins where the one before it ended (P9). */
  readonly stays: boolean
  readonly compacts: boolean
  readonly wantsReport: boolean
  readonly maxTurns: number | null
}

const content: fc.Arbitrary<ProviderEvent> = fc.oneof(
  fc.string({ maxLength: 3 }).map(ScriptedProvider.text),
  fc.string({ maxLength: 3 }).map((delta): ProviderEvent => ({ type: "reasoning-delta", delta })),
  fc.constant<ProviderEvent>({ type: "reasoning-end", signature: "s" }),
  fc.constant<ProviderEvent>({ type: "usage", usage: { outputTokens: 1 } })
)

const failure = fc.constantFrom(
  ScriptedProvider.overloaded,
  ScriptedProvider.badGateway,
  ScriptedProvider.unauthorized,
  { ...ScriptedProvider.unauthorized, reason: "context-overflow" as const },
  { ...ScriptedProvider.unauthorized, reason: "aborted" as const }
)

const failing = fc
  .tuple(fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(content, { maxLength: 3 })), failure, fc.nat(3))
  .map(([before, failure, how]) => {
    if (how === 0) return ScriptedProvider.throws(failure, ...before)
    if (how === 1) return ScriptedProvider.dies("bug", ...before)
    return how === 2 ? ScriptedProvider.breaksOff(...before) : ScriptedProvider.emits(failure, ...before)
  })

const asking = fc
  .tuple(fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 }), fc.constantFrom({}, "no object"))
  .map(([names, input]) => ScriptedProvider.tools(...names.map((name) => ({ ...ScriptedProvider.call(name), input }))))

const answering = fc
  .array(fc.string({ maxLength: 4 }), { maxLength: 4 })
  .map((deltas) => ScriptedProvider.answer(...deltas))

/** Generates settings. */
export const arbitrary: fc.Arbitrary<Setting> = fc.record({
  scripts: fc
    .tuple(fc.array(fc.oneof(failing, asking), { maxLength: 8 }), answering)
    .map(([before, last]) => [...before, last]),
  moves: fc.option(fc.array(fc.constantFrom<Move>("stay", "wait", "switch", "credential"), { maxLength: 4 })),
  stays: fc.boolean(),
  compacts: fc.boolean(),
  wantsReport: fc.boolean(),
  maxTurns: fc.option(fc.integer({ min: 1, max: 3 }))
})

/** The services of a turn with a setting, besides its provider. */
export const servicesOf = ({ compacts, moves, stays, wantsReport }: Setting): Layer.Layer<never, never, Provider> =>
  Layer.mergeAll(
    compacts ? compactor : Layer.empty,
    moves === null ? Layer.empty : routerOf(moves, stays).layer,
    wantsReport ? report : Layer.empty
  )

// --- internal

/** A router with a move for each retry of a step; it retries as often as there are delays. */
const routerOf = (moves: ReadonlyArray<Move>, stays: boolean) =>
  new TestRouter({
    begin: ({ current, primary }) => ({ route: (stays ? current : undefined) ?? { target: primary } }),
    direct: ({ retries }, { current, primary }) => {
      const delayMs = DELAYS[retries]
      if (delayMs === undefined) return undefined
      const elsewhere = current?.target.provider === "other" ? primary : { provider: "other", model: "m" }
      switch (moves[retries] ?? "stay") {
        case "switch":
          return { delayMs: 0, route: { target: elsewhere, role: "r" }, state: retries }
        case "wait":
          return { delayMs, route: { target: elsewhere } }
        case "credential":
          return { delayMs: 0, route: { target: current?.target ?? primary, credential: `c${retries}` } }
        default:
          return { delayMs }
      }
    }
  })

/** `a` is the report's tool, so any step with tools may submit a report. */
const report = Layer.succeed(FinalReport, {
  tool: { name: "a", inputSchema: {} },
  validate: (value) => (typeof value === "object" ? undefined : "it is no object")
})

/** Replaces all but the newest message, and its call too if it is a result. */
const compactor = Layer.succeed(Compactor, {
  compact: ({ messages }) =>
    Effect.sync(() => {
      const last = messages.findLast(({ role }, i) => i < messages.length - 1 && role !== "assistant")
      return last === undefined || Summary.isSummary(last) ? undefined : { summary: "They talked.", upTo: last.id }
    })
})
