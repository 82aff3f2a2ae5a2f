/** The calls that the terminal makes to a service. */
import type { ConversationState, PeriodReport, TurnEvent, TurnExplanation } from "@holdfast/wire"

/** What arrives from a service about one conversation. */
export type Arrival =
  | { readonly type: "event"; readonly event: TurnEvent.TurnEvent }
  /** A connection begins. The server's clock minus this one, in milliseconds, where the service gave its time. */
  | { readonly type: "connected"; readonly clockSkewMs: number }
  /** The connection broke off, and is made again. */
  | { readonly type: "disconnected"; readonly message: string }

/** A service. Every call fails with an `Error` whose message is for a person. */
export interface Service {
  /** Opens a conversation and returns its id. */
  readonly create: (options: { readonly model?: string | undefined }) => Promise<string>
  /** All events of a conversation, then what happens. It reconnects until the signal is aborted or the conversation is gone. */
  readonly watch: (conversationId: string, signal: AbortSignal) => AsyncIterable<Arrival>
  readonly prompt: (conversationId: string, prompt: string) => Promise<void>
  /** Runs the model again on the last prompt. */
  readonly retry: (conversationId: string) => Promise<void>
  readonly abort: (conversationId: string) => Promise<void>
  readonly abortRetry: (conversationId: string) => Promise<void>
  readonly retryNow: (conversationId: string) => Promise<void>
  readonly waitUntil: (conversationId: string, until: number) => Promise<void>
  readonly switchTarget: (conversationId: string, model: string) => Promise<void>
  readonly extendBudget: (conversationId: string, byMs: number) => Promise<void>
  readonly setAutoRetry: (conversationId: string, enabled: boolean) => Promise<void>
  readonly state: (conversationId: string) => Promise<ConversationState.ConversationState>
  /** The newest conversations. */
  readonly conversations: () => Promise<ReadonlyArray<ConversationState.ConversationSummary>>
  readonly explain: (conversationId: string, turnId: string) => Promise<TurnExplanation.TurnExplanation>
  /** The same as text. */
  readonly explainInWords: (conversationId: string, turnId: string) => Promise<string>
  /** What happened since a moment; without one, in the last hours. */
  readonly report: (since: number | undefined) => Promise<PeriodReport.PeriodReport>
}
