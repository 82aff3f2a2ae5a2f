/**
 * Defines scenarios of the rules as data.
 *
 * Given the responses to calls, the time and the actions of people, a scenario lists the calls, waits and events in order, and the
 * final history.
 *
 * RuleScenario.S1. Every listed call is made, and no other. Every event is listed; neighbouring deltas are one.
 * RuleScenario.S2. Durations are those of the rules, in milliseconds; `ServiceRunner` shortens them, and what it expects.
 */
import type { Models, Profile } from "@holdfast/policy"
import { defined, type ConversationState, type Failure, type TurnEvent } from "@holdfast/wire"
import type { Answer } from "./Answers.ts"

export type Format = "openai" | "anthropic"

/** A scenario of one turn has its fields; one of several has them in order. */
export type Scenario = Setting & (Turn | { readonly turns: readonly [Turn, ...ReadonlyArray<Turn>] })

export interface Setting {
  /** Begins with the ids of the rules that it proves. */
  readonly title: string
  /** The `retry` object of a configuration. Absent: the default profile. `null`: no strategy at all (D9). */
  readonly retry?: typeof Profile.RetrySettings.Encoded | null
  /** `provider/model` each, all that there are; turns begin at the first. Absent: one. */
  readonly targets?: readonly [string, ...ReadonlyArray<string>]
  /** The variables with the keys of a provider, by its name, in order. A provider that is missing has a key that is not checked. */
  readonly credentials?: { readonly [provider: string]: ReadonlyArray<string> }
  /** The capabilities of models, by `provider/model`. */
  readonly models?: Models.Models
  /** The offered tools; each answers "done". Absent: none, and a call of a tool fails. */
  readonly tools?: ReadonlyArray<string>
  /** The wire format in which it runs. Absent: `openai`. */
  readonly format?: Format
  /** The factor by which the service shortens its delays. Absent: `SCALE`, or 1 if a person acts during a wait. */
  readonly scale?: number
  /** The conversation's history in the end, a line a message. */
  readonly history: ReadonlyArray<string>
}

export interface Turn {
  /** Absent: `PROMPT`. `null`: a manual retry (M1). */
  readonly prompt?: string | null
  /** The response to each call, in order. */
  readonly given: ReadonlyArray<Answer>
  /** Absent: time passes without an action. */
  readonly when?: ReadonlyArray<When>
  readonly follows: Follows
}

export interface When {
  /** Before the turn; in the wait before its nth retry, from 0; or at a point where an answer waits for the test. */
  readonly at: "start" | "held" | number
  readonly act: Act
}

export type Act =
  | "abort"
  | "abort-retry"
  | "retry-now"
  | "auto-retry on"
  | "auto-retry off"
  /** Sends the turn to another target, `provider/model` (X4). */
  | { readonly switchesTo: string }
  /** The state of the conversation for a client (P15). */
  | {
      readonly reads: Partial<
        Pick<ConversationState.ConversationState, "status" | "isRetrying" | "autoRetryEnabled" | "attempt" | "model">
      >
    }

export interface Follows {
  /** The targets of the calls, in order, with `#` and the key's variable if the scenario has keys. Absent: all go to the first. */
  readonly calls?: ReadonlyArray<string>
  /** The messages of each call, one line each, without instructions. Absent: not checked. */
  readonly asked?: ReadonlyArray<ReadonlyArray<string>>
  /** The tools that each call offers. Absent: not checked. */
  readonly offered?: ReadonlyArray<ReadonlyArray<string>>
  readonly events: ReadonlyArray<Expected>
  /** The text that a client shows in the end. Absent: none. */
  readonly shown?: string
}

/** An event: its type, or any of its fields with it. */
export type Expected = TurnEvent.TurnEvent["type"] | Pattern

export type Pattern = {
  [Type in TurnEvent.TurnEvent["type"]]: { readonly type: Type } & Partial<Fields<Type>>
}[TurnEvent.TurnEvent["type"]]

/** The event of a wait. */
export type Wait = Extract<Pattern, { readonly type: "provider-retry" }>

type Fields<Type> = Omit<
  Extract<TurnEvent.TurnEvent, { readonly type: Type }>,
  "type" | "conversationId" | "turnId" | "error"
>

/** The prompt if a scenario has none. */
export const PROMPT = "Hello"

/** The target if a scenario has none. */
export const TARGET = "scripted/m"

/** The provider of a target. */
export const providerOf = (target: string): string => target.split("/")[0] ?? target

/** The turns of a scenario. */
export const turnsOf = (scenario: Scenario): ReadonlyArray<Turn> => ("turns" in scenario ? scenario.turns : [scenario])

/** The providers of a scenario's targets. */
export const providersOf = ({ targets = [TARGET] }: Setting): ReadonlyArray<string> =>
  Array.from(new Set(targets.map(providerOf)))

/** The value of a key, by the variable that holds it. */
export const keyOf = (variable: string): string => `sk-test-of-${variable}`

/** 5 s become 5 ms. */
export const SCALE = 1_000

// --- events

/** How a turn with a prompt begins. */
export const BEGUN: ReadonlyArray<Expected> = ["turn-start", "message", "step-start"]

/** How a manual retry begins: with no new message (M1). */
export const BEGUN_AGAIN: ReadonlyArray<Expected> = [{ type: "turn-start", retry: true }, "step-start"]

/** A turn by the responses to its calls and by its events, without those of its beginning. */
export const turn = (
  given: ReadonlyArray<Answer>,
  events: ReadonlyArray<Expected>,
  { prompt, when, ...follows }: Pick<Turn, "prompt" | "when"> & Omit<Follows, "events"> = {}
): Turn => ({
  given,
  ...defined({ prompt, when }),
  follows: { events: [...(prompt === null ? BEGUN_AGAIN : BEGUN), ...events], ...follows }
})

/** The waits of a chain from its first retry on. */
export const waits = (...delaysMs: ReadonlyArray<number>): ReadonlyArray<Wait> =>
  delaysMs.map((delayMs, attempt) => ({ type: "provider-retry", attempt, delayMs }))

/** An immediate retry, which opens or continues a chain. */
export const atOnce = (attempt: number, reason: Failure.Reason): Pattern => ({
  type: "provider-retry",
  attempt,
  delayMs: 0,
  reason
})

/** A fallback takes over. */
export const fallsBack = (from: string, to: string, role = "default"): ReadonlyArray<Pattern> => [
  { type: "retry-fallback-applied", from, to, role },
  { type: "model-change", from, to }
]

/** A fallback's first answer, and the seal; `attempt` is the last retry of an open chain. */
export const provedAt = (model: string, attempt?: number, role = "default"): ReadonlyArray<Expected> => [
  "text-delta",
  ...(attempt === undefined ? [] : [{ type: "retry-end", success: true, attempt } as const]),
  { type: "retry-fallback-succeeded", model, role },
  "usage",
  "message",
  { type: "turn-end", status: "completed" }
]

/** A tool is called, and answers. */
export const called = (toolName: string, isError: boolean): ReadonlyArray<Expected> => [
  { type: "tool-call", toolName },
  "usage",
  "message",
  { type: "tool-result", toolName, isError },
  "message"
]

/** An answer, and the seal; `attempt` is the last retry of an open chain. */
export const answered = (attempt?: number): ReadonlyArray<Expected> => [
  "text-delta",
  ...(attempt === undefined ? [] : [{ type: "retry-end", success: true, attempt } as const]),
  "usage",
  "message",
  { type: "turn-end", status: "completed" }
]

/** The end of a turn that fails; `finalError` closes a chain that was open at `attempt`. */
export const failed = (
  reason: Failure.Reason,
  chain?: { readonly attempt: number; readonly finalError?: string }
): ReadonlyArray<Expected> => [
  ...(chain === undefined ? [] : [{ type: "retry-end", success: false, ...chain } as const]),
  "message",
  { type: "error", reason },
  { type: "turn-end", status: "failed" }
]

/** The end of a turn that is aborted; `attempt` is the last retry of an open chain. */
export const aborted = (attempt?: number): ReadonlyArray<Expected> => [
  ...(attempt === undefined
    ? []
    : [{ type: "retry-end", success: false, attempt, finalError: "Retry cancelled" } as const]),
  "message",
  { type: "turn-end", status: "aborted" }
]
