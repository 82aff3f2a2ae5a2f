/** Observations for tests, of a turn `t1` of the conversation `c1` at `openai/gpt-5`. */
import type { Observer } from "@holdfast/kernel"
import { type Failure, Ids } from "@holdfast/wire"

export const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

export const place: Observer.ObservedStep = {
  conversationId: Ids.ConversationId.make("c1"),
  turnId: Ids.TurnId.make("t1"),
  step: 0,
  stepStartedAt: 1_000,
  target: { provider: "openai", model: "gpt-5" }
}

export const completed: Observer.AttemptEnded["outcome"] = {
  _tag: "Completed",
  content: [{ type: "text", text: "A secret answer" }],
  usage: { inputTokens: 10, outputTokens: 5 },
  endedAt: 3_000,
  finishReason: "stop"
}

export const failed = {
  _tag: "Failed",
  content: [],
  endedAt: 2_000,
  failure: overloaded,
  contentSeen: false,
  spread: 0
} satisfies Observer.AttemptEnded["outcome"]

export const attempt = (given: Partial<Observer.AttemptEnded> = {}): Observer.AttemptEnded => ({
  ...place,
  attempt: 0,
  retry: undefined,
  isManualRetry: false,
  request: undefined,
  startedAt: 1_500,
  firstContentAt: undefined,
  outcome: failed,
  report: undefined,
  ...given
})

export const decision = (given: Partial<Observer.Decided> = {}): Observer.Decided => ({
  ...place,
  attempt: 0,
  retry: undefined,
  startedAt: 1_500,
  endedAt: 2_000,
  failure: overloaded,
  directive: { _tag: "Retry", attempt: 0, delayMs: 5_000, retryAt: 7_000 },
  at: 2_000,
  ...given
})

/** A decision to wait. */
export const retry = (at: number, delayMs: number, given: Partial<Observer.Decided> = {}): Observer.Decided =>
  decision({ at, directive: { _tag: "Retry", attempt: 0, delayMs, retryAt: at + delayMs }, ...given })

export const wait = (given: Partial<Observer.WaitEnded> = {}): Observer.WaitEnded => ({
  ...place,
  retry: 0,
  failure: overloaded,
  delayMs: 5_000,
  retryAt: 7_000,
  wake: { type: "elapsed" },
  at: 7_000,
  ...given
})

export const tool = (given: Partial<Observer.ToolEnded> = {}): Observer.ToolEnded => ({
  ...place,
  call: { type: "tool-call", toolCallId: "call-1", toolName: "search", input: { query: "A secret query" } },
  startedAt: 3_000,
  endedAt: 4_000,
  isError: false,
  report: undefined,
  othersRunning: 0,
  ...given
})

export const seal = (given: Partial<Observer.Sealed["end"]> = {}): Observer.Sealed => ({
  ...place,
  startedAt: 1_000,
  retryLoopMs: 1_000,
  end: {
    type: "turn-end",
    conversationId: place.conversationId,
    turnId: place.turnId,
    status: "completed",
    endedAt: 9_000,
    steps: 1,
    attempts: 2,
    sleptMs: 5_000,
    waitedMs: 800,
    usage: { inputTokens: 10, outputTokens: 5 },
    ...given
  }
})
