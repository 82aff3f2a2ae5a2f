/**
 * What the rules say, as data: given what each call meets, when time passes and people act, then these calls, waits and
 * events come, in this order, and this is left of them.
 *
 * S1. A scenario says nothing of how it is run. `KernelRunner` runs it against the kernel and the policies under the test clock,
 *     `ServiceRunner` against the whole service, over sockets, with its delays shortened.
 * S2. Every call that is given is made, and no other. Every event is listed; neighbouring deltas are one.
 * S3. Durations are those of the rules, in milliseconds; a runner that shortens them shortens what it expects.
 */
import type { Profile } from "@holdfast/policy"
import type { ConversationState, Failure, TurnEvent } from "@holdfast/wire"
import type { Answer } from "./Answers.ts"

export type Format = "openai" | "anthropic"

export interface Scenario {
  /** Begins with the ids of the rules that it proves. */
  readonly title: string
  /** The `retry` object of a configuration. Absent: the default profile. `null`: no strategy at all (D9). */
  readonly retry?: typeof Profile.RetrySettings.Encoded | null
  /** `provider/model` each; turns begin at the first. Absent: one. */
  readonly targets?: readonly [string, ...ReadonlyArray<string>]
  /** Wire formats in which it is run. Absent: the first. */
  readonly formats?: ReadonlyArray<Format>
  /** Why one of the runners cannot run it. */
  readonly only?: { readonly runner: "kernel" | "service"; readonly because: string }
  /** How many times shorter the service makes its delays. Absent: `SCALE`, or 1 where somebody acts while it waits. */
  readonly scale?: number
  readonly turns: readonly [Turn, ...ReadonlyArray<Turn>]
  /** The conversation's history in the end, a line a message. */
  readonly history: ReadonlyArray<string>
}

export interface Turn {
  /** Absent: `PROMPT`. `null`: a manual retry (M1). */
  readonly prompt?: string | null
  /** What each call meets, in order. */
  readonly given: ReadonlyArray<Answer>
  /** Absent: time passes, and nobody does anything. */
  readonly when?: ReadonlyArray<When>
  readonly follows: Follows
}

export interface When {
  /** Before the turn; in its nth wait, from 0; or where an answer holds its breath. */
  readonly at: "start" | "held" | number
  readonly act: Act
}

export type Act =
  | "abort"
  | "abort-retry"
  | "retry-now"
  | "auto-retry on"
  | "auto-retry off"
  /** The sleep fails, as no real one does (D14). */
  | "sleep fails"
  /** Sends the turn to another target, `provider/model` (X4). */
  | { readonly switchesTo: string }
  /** What a client reads of the conversation (P15). */
  | {
      readonly reads: Partial<
        Pick<ConversationState.ConversationState, "status" | "isRetrying" | "autoRetryEnabled" | "attempt">
      >
    }

export interface Follows {
  /** The targets of the calls, in order. Absent: all go to the first. */
  readonly calls?: ReadonlyArray<string>
  /** What the model is shown by each call, a line a message. Absent: not looked at. */
  readonly asked?: ReadonlyArray<ReadonlyArray<string>>
  readonly events: ReadonlyArray<Expected>
  /** The text that a client shows in the end. Absent: none. */
  readonly shown?: string
}

/** An event: its type, or any of its fields with it. */
export type Expected = TurnEvent.TurnEvent["type"] | Pattern

export type Pattern = {
  [Type in TurnEvent.TurnEvent["type"]]: { readonly type: Type } & Partial<Fields<Type>>
}[TurnEvent.TurnEvent["type"]]

/** What a client is told of a wait. */
export type Wait = Extract<Pattern, { readonly type: "provider-retry" }>

type Fields<Type> = Omit<
  Extract<TurnEvent.TurnEvent, { readonly type: Type }>,
  "type" | "conversationId" | "turnId" | "error"
>

/** What a turn is asked where a scenario does not care. */
export const PROMPT = "Hello"

/** Where calls go when a scenario does not care. */
export const TARGET = "scripted/m"

/** 5 s become 5 ms. */
export const SCALE = 1_000

// --- events

/** How a turn with a prompt begins. */
export const BEGUN: ReadonlyArray<Expected> = ["turn-start", "message", "step-start"]

/** How a manual retry begins: with no new message (M1). */
export const BEGUN_AGAIN: ReadonlyArray<Expected> = [{ type: "turn-start", retry: true }, "step-start"]

/** The waits of a chain from its first retry on. */
export const waits = (...delaysMs: ReadonlyArray<number>): ReadonlyArray<Wait> =>
  delaysMs.map((delayMs, attempt) => ({ type: "provider-retry", attempt, delayMs }))

/** An answer, and the seal; `attempt` is the last retry of a chain that was open. */
export const answered = (attempt?: number): ReadonlyArray<Expected> => [
  "text-delta",
  ...(attempt === undefined ? [] : [{ type: "retry-end", success: true, attempt } as const]),
  "usage",
  "message",
  { type: "turn-end", status: "completed" }
]

/** The end of a turn that fails; `finalError` is what closes a chain that was open at `attempt`. */
export const failed = (
  reason: Failure.Reason,
  chain?: { readonly attempt: number; readonly finalError?: string }
): ReadonlyArray<Expected> => [
  ...(chain === undefined ? [] : [{ type: "retry-end", success: false, ...chain } as const]),
  "message",
  { type: "error", reason },
  { type: "turn-end", status: "failed" }
]

/** The end of a turn that is aborted; `attempt` is the last retry of a chain that was open. */
export const aborted = (attempt?: number): ReadonlyArray<Expected> => [
  ...(attempt === undefined
    ? []
    : [{ type: "retry-end", success: false, attempt, finalError: "Retry cancelled" } as const]),
  "message",
  { type: "turn-end", status: "aborted" }
]
