/**
 * Conversations by chance, as a service emits them, and what a client gets that connects at any moment.
 *
 * GeneratedConversation.G1. The frames of a client that connects late are modelled by the contract alone: persisted events after its id, then the
 *     transient events that no persisted event has replaced.
 */
import type { TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"

/** An event on its way to a client; a persisted one has its id. */
export interface Frame {
  readonly id: number | undefined
  readonly event: TurnEvent.TurnEvent
}

export const CONVERSATION = "c1"

/** What becomes of one attempt. */
type AttemptPlan =
  | { readonly type: "waits"; readonly delayMs: number; readonly asks: boolean }
  /** Its process dies, or its transport fails: the content is void. */
  | { readonly type: "breaks"; readonly deltas: ReadonlyArray<Delta>; readonly delayMs: number | undefined }
  /** Another process continues the step. */
  | { readonly type: "moves" }

interface Delta {
  readonly type: "text-delta" | "reasoning-delta"
  readonly delta: string
}

interface StepPlan {
  readonly attempts: ReadonlyArray<AttemptPlan>
  readonly deltas: ReadonlyArray<Delta>
  readonly calls: number
}

interface TurnPlan {
  readonly steps: ReadonlyArray<StepPlan>
  readonly end: "completed" | "failed" | "aborted"
  readonly isMissingTools: boolean
}

const delta: fc.Arbitrary<Delta> = fc.record({
  type: fc.constantFrom("text-delta" as const, "text-delta" as const, "reasoning-delta" as const),
  delta: fc.string({ minLength: 1, maxLength: 4 })
})

const deltas = fc.array(delta, { maxLength: 5 })

const delayMs = fc.constantFrom(0, 1_000, 60_000)

const attempt: fc.Arbitrary<AttemptPlan> = fc.oneof(
  fc.record({ type: fc.constant("waits" as const), delayMs, asks: fc.boolean() }),
  fc.record({ type: fc.constant("breaks" as const), deltas, delayMs: fc.option(delayMs, { nil: undefined }) }),
  fc.record({ type: fc.constant("moves" as const) })
)

const step: fc.Arbitrary<StepPlan> = fc.record({
  attempts: fc.array(attempt, { maxLength: 3 }),
  deltas,
  calls: fc.nat(2)
})

const turn: fc.Arbitrary<TurnPlan> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  end: fc.constantFrom("completed" as const, "completed" as const, "failed" as const, "aborted" as const),
  isMissingTools: fc.boolean()
})

/** All frames of a conversation, as a client gets them that is connected all the time. */
export const conversation: fc.Arbitrary<ReadonlyArray<Frame>> = fc
  .array(turn, { minLength: 1, maxLength: 4 })
  .map((turns) => framesOf(turns))

/** What a client gets at once that connects when `frames` have passed, and has the events up to `after`. */
export const joining = (frames: ReadonlyArray<Frame>, after: number): ReadonlyArray<Frame> => [
  ...frames.filter(({ id }) => id !== undefined && id > after),
  ...inProgress(frames).map((event) => ({ id: undefined, event }))
]

/** The id of the newest persisted event. */
export const lastIdOf = (frames: ReadonlyArray<Frame>): number =>
  frames.reduce((last, { id }) => Math.max(last, id ?? 0), 0)

// --- internal

const USAGE = { inputTokens: 1, outputTokens: 1 }

/** Events are plain objects; the test of the fixtures decodes a sample of these. */
const framesOf = (turns: ReadonlyArray<TurnPlan>): ReadonlyArray<Frame> => {
  const frames: Array<Frame> = []
  let lastId = 0
  turns.forEach((plan, number) => {
    const turnId = `t${number}`
    const live = (event: object) => {
      frames.push({ id: undefined, event: { conversationId: CONVERSATION, turnId, ...event } as TurnEvent.TurnEvent })
    }
    const persist = (event: object) => {
      const whole = { conversationId: CONVERSATION, turnId, ...event } as TurnEvent.TurnEvent
      frames.push({ id: ++lastId, event: whole })
    }
    let messages = 0
    const message = (of: object) =>
      persist({ type: "message", message: { id: `${turnId}.${messages++}`, turnId, createdAt: 1_000 + lastId, ...of } })
    const text = (value: string) => [{ type: "text", text: value }]

    persist({ type: "turn-start", startedAt: 1_000 })
    message({ role: "user", content: text(`prompt ${number}`) })
    if (plan.isMissingTools) live({ type: "tools-missing", servers: [{ server: "s", message: "down" }], until: 9_000 })
    plan.steps.forEach(({ attempts, calls, deltas }, step) => {
      const target = `test/m${step % 2}`
      const begin = () => live({ type: "step-start", step, target })
      const wait = (retry: number, delayMs: number, asks: boolean) =>
        live({
          type: "provider-retry",
          attempt: retry,
          delayMs,
          retryAt: 10_000 + delayMs + retry,
          message: "Overloaded",
          reason: "overloaded",
          target,
          ...(asks ? { asks: { because: "turn", tokens: 2, limit: 1, waitedMs: 1, message: "Go on?" } } : undefined)
        })
      begin()
      let retries = 0
      for (const attempt of attempts) {
        switch (attempt.type) {
          case "waits":
            wait(retries++, attempt.delayMs, attempt.asks)
            break
          case "breaks":
            for (const delta of attempt.deltas) live(delta)
            persist({ type: "step-discarded", step, message: "It broke off." })
            if (attempt.delayMs !== undefined) wait(retries++, attempt.delayMs, false)
            begin()
            break
          case "moves":
            begin()
            break
          default:
            attempt satisfies never
        }
      }
      const isLast = step === plan.steps.length - 1
      if (isLast && plan.end === "aborted") return
      for (const delta of deltas) live(delta)
      const isCalling = !isLast && calls > 0
      const isFailed = isLast && plan.end === "failed"
      if (retries > 0) persist({ type: "retry-end", success: !isFailed, attempt: retries - 1 })
      const ids = isCalling
        ? Array.from({ length: calls }, (_, call) => ({ toolCallId: `k${call}`, toolName: "pay" }))
        : []
      for (const id of ids) persist({ type: "tool-call", ...id, input: {} })
      persist({ type: "usage", step, usage: USAGE })
      const [provider, model] = target.split("/")
      message({
        role: "assistant",
        content: [
          ...text(deltas.map(({ delta, type }) => (type === "text-delta" ? delta : "")).join("")),
          ...ids.map((id) => ({ type: "tool-call", ...id, input: {} }))
        ],
        target: { provider, model },
        ...(isFailed ? { error: { reason: "network", message: "cut", retryable: false } } : undefined)
      })
      if (!isCalling) return
      for (const id of ids) persist({ type: "tool-result", ...id, output: "paid", isError: step % 2 === 1 })
      message({
        role: "tool",
        content: ids.map((id) => ({ type: "tool-result", ...id, output: "paid", isError: step % 2 === 1 }))
      })
    })
    if (plan.end === "failed") persist({ type: "error", message: "cut", reason: "network" })
    const steps = plan.steps.length
    persist({ type: "turn-end", status: plan.end, endedAt: 2_000, steps, attempts: steps, sleptMs: 0, usage: USAGE })
  })
  return frames
}

/** The transient events that no later event has replaced. */
const inProgress = (frames: ReadonlyArray<Frame>): ReadonlyArray<TurnEvent.TurnEvent> => {
  const events = frames.map(({ event }) => event)
  const cleared = events.findLastIndex(({ type }) => ["message", "step-discarded", "turn-end"].includes(type))
  const since = events.slice(cleared + 1)
  const start = since.findLastIndex(({ type }) => type === "step-start")
  const content = since.slice(start + 1).filter(({ type }) => type === "text-delta" || type === "reasoning-delta")
  const waits = since.findLastIndex(
    ({ type }) => ["provider-retry", "step-start", "retry-end"].includes(type) || type.endsWith("-delta")
  )
  const wait = since[waits]
  const missing = events.findLastIndex((event) => event.type === "tools-missing")
  const isHeld = missing >= 0 && !events.slice(missing).some(({ type }) => type === "step-start" || type === "turn-end")
  return [
    ...events.slice(missing, isHeld ? missing + 1 : missing),
    ...since.slice(Math.max(start, 0), start + 1),
    ...content,
    ...(wait?.type === "provider-retry" && wait.delayMs > 0 ? [wait] : [])
  ]
}
