/**
 * The events of a turn, as plain types. The meaning of each stands in CONTRACTS.md of `@holdfast/wire`.
 *
 * Every event of the kernel fits one of these types, so a program needs no other package to read them.
 */

/** Any value that JSON can hold. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** Tokens, as the provider counted them. */
export interface Usage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** Part of `outputTokens`. */
  readonly reasoningTokens?: number
  /** Part of `inputTokens`. */
  readonly cachedInputTokens?: number
  /** Part of `inputTokens`. */
  readonly cacheWriteTokens?: number
}

/** Why an attempt failed. */
export type Reason =
  | "rate-limited"
  | "quota-exhausted"
  | "overloaded"
  | "server-error"
  | "network"
  | "timeout"
  | "invalid-response"
  | "auth"
  | "context-overflow"
  | "refused"
  | "model-unavailable"
  | "bad-request"
  | "aborted"
  | "unknown"

/** A failure, classified. */
export interface Failure {
  readonly reason: Reason
  /** The endpoint's error, verbatim. */
  readonly message: string
  readonly retryable: boolean
  /** The HTTP status, when there was a response. */
  readonly status?: number
  /** The provider's own code or type. */
  readonly code?: string
}

/** A provider and a model of it. */
export interface Target {
  readonly provider: string
  readonly model: string
}

/** Text of a message. */
export interface TextPart {
  readonly type: "text"
  readonly text: string
}

/** A file of a prompt or of a tool's result: its bytes as base64 (`data`), or its https address (`url`). */
export type FilePart = {
  readonly type: "file"
  /** Such as `image/png` or `application/pdf`. */
  readonly mediaType: string
  /** The file's name, without folders. */
  readonly name?: string
} & ({ readonly data: string } | { readonly url: string })

/** A file that a model returned. */
export type ModelFile = FilePart & {
  /** The provider's data that must go back with the file, as your model wrote it. */
  readonly proof?: string
}

/** A prompt: text, or a list of texts and files. */
export type Prompt = string | readonly [TextPart | FilePart, ...ReadonlyArray<TextPart | FilePart>]

/** Reasoning of a model. */
export interface ReasoningPart {
  readonly type: "reasoning"
  readonly text: string
  /** Anthropic's proof that the block is unchanged. */
  readonly signature?: string
  /** Anthropic's redacted block; `text` is empty then. */
  readonly redacted?: string
  /** The data of another provider that must go back with the block, as your model wrote it. */
  readonly proof?: string
}

/** A call of a tool by the model. */
export interface ToolCallPart {
  readonly type: "tool-call"
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  /** Why the arguments could not be read; such a call is answered and not run. */
  readonly malformed?: string
  /** The provider's data that must go back with the call, as your model wrote it. */
  readonly proof?: string
}

/** The answer to a tool call. */
export interface ToolResultPart {
  readonly type: "tool-result"
  readonly toolCallId: string
  readonly toolName: string
  /** With `content`: its texts, and a placeholder for each file. */
  readonly output: Json
  /** The texts and files of a result with files, in order. */
  readonly content?: ReadonlyArray<TextPart | FilePart>
  readonly isError: boolean
}

interface MessageOf {
  readonly id: string
  readonly turnId: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** A prompt, or a message that Holdfast wrote for the model. */
export interface UserMessage extends MessageOf {
  readonly role: "user"
  readonly content: ReadonlyArray<TextPart | FilePart>
  /** Written by Holdfast. */
  readonly synthetic?: true
  /** Stands for all messages up to this one, which the model no longer sees. */
  readonly summary?: { readonly upTo: string }
}

/** One response of a model. */
export interface AssistantMessage extends MessageOf {
  readonly role: "assistant"
  readonly content: ReadonlyArray<TextPart | ReasoningPart | ToolCallPart | ModelFile>
  readonly target: Target
  readonly finishReason?: "stop" | "length" | "tool-calls" | "content-filter" | "other"
  readonly usage?: Usage
  /** The response broke off with it. */
  readonly error?: Failure
}

/** The answers to the tool calls of one response. */
export interface ToolMessage extends MessageOf {
  readonly role: "tool"
  readonly content: ReadonlyArray<ToolResultPart>
}

/** A message of a conversation. */
export type Message = UserMessage | AssistantMessage | ToolMessage

interface Of<Type extends string> {
  readonly type: Type
  readonly conversationId: string
  readonly turnId: string
}

/** A wait begins: the next attempt is at `retryAt`. */
export interface ProviderRetry extends Of<"provider-retry"> {
  /** 0-based: the retry that is about to happen. */
  readonly attempt: number
  readonly delayMs: number
  /** Epoch milliseconds. */
  readonly retryAt: number
  /** The endpoint's error, verbatim. */
  readonly message: string
  readonly code?: string
  readonly reason: Reason
  /** `provider/model` that failed. */
  readonly target: string
  readonly credential?: string
  readonly maxAttempts?: number
  /** A person must answer before the turn continues: the spend guard asks, or tool calls need approval (`tools`). */
  readonly asks?: {
    readonly because: "request" | "turn" | "spend" | "tools"
    readonly tokens: number
    readonly limit: number
    readonly waitedMs: number
    readonly message: string
    /** The calls that wait for an answer; set for `tools`. */
    readonly calls?: ReadonlyArray<AskedCall>
  }
}

/** A tool call that needs approval. */
export interface AskedCall {
  readonly toolCallId: string
  readonly toolName: string
  /** The beginning of its arguments as JSON: 200 characters at most. The event `tool-call` has all of them. */
  readonly quoted: string
}

/** The end of a turn. */
export interface TurnEnd extends Of<"turn-end"> {
  readonly status: "completed" | "failed" | "aborted"
  /** Epoch milliseconds. */
  readonly endedAt: number
  readonly steps: number
  /** Calls of a provider, retries included. */
  readonly attempts: number
  /** Scheduled sleep, in milliseconds. */
  readonly sleptMs: number
  /** How long the waits really took, in milliseconds. */
  readonly waitedMs?: number
  readonly usage: Usage
  readonly error?: Failure
  readonly report?: { readonly source: string; readonly success: boolean; readonly content: Json }
}

/** What a turn emits, in order. */
export type TurnEvent =
  | (Of<"step-start"> & { readonly step: number; readonly target: string })
  | (Of<"text-delta"> & { readonly delta: string })
  | (Of<"reasoning-delta"> & { readonly delta: string })
  /** A file of the model, whole. The message of its step has it too. */
  | (Of<"file"> & { readonly file: ModelFile })
  | ProviderRetry
  | (Of<"tools-missing"> & {
      readonly servers: ReadonlyArray<{ readonly server: string; readonly message: string }>
      readonly until?: number
    })
  | (Of<"turn-start"> & { readonly startedAt: number; readonly retry?: true })
  | (Of<"tool-call"> & { readonly toolCallId: string; readonly toolName: string; readonly input: Json })
  | (Of<"tool-result"> & {
      readonly toolCallId: string
      readonly toolName: string
      readonly output: Json
      readonly isError: boolean
    })
  | (Of<"usage"> & { readonly step: number; readonly usage: Usage })
  | (Of<"message"> & { readonly message: Message })
  | (Of<"retry-end"> & {
      readonly success: boolean
      readonly attempt: number
      readonly finalError?: string
      /** What was done about a failure after content; absent: there was none. */
      readonly midStream?: "fail" | "discard" | "unseen"
    })
  /** The text of the step that was shown is void: a screen takes it back. */
  | (Of<"step-discarded"> & { readonly step: number; readonly message: string; readonly usage?: Usage })
  | (Of<"retry-fallback-applied"> & { readonly from: string; readonly to: string; readonly role: string })
  | (Of<"retry-fallback-succeeded"> & { readonly model: string; readonly role: string })
  | (Of<"model-change"> & { readonly from: string; readonly to: string })
  | (Of<"synthetic-retry"> & { readonly step: number; readonly guidance: string })
  | (Of<"compaction"> & { readonly summary: string; readonly messages: number })
  | (Of<"final-turn"> & { readonly step: number; readonly cause: string; readonly shortenedFrom?: number })
  | (Of<"error"> & { readonly message: string; readonly reason: Reason; readonly code?: string })
  | TurnEnd
