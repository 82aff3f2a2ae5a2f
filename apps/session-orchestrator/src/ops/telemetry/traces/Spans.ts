/**
 * Makes a turn's spans by OpenTelemetry's conventions for generative AI. Pure.
 *
 * - A turn is one trace, in any number of processes: its trace id and the id of each span follow from the turn's id. So a child can name a
 *   parent that ends hours later in another process, and nothing is kept for a turn that waits.
 * - A span is made at its end: an attempt's span with the attempt, a turn's span with its seal.
 * - No span has text of a prompt, an answer, a tool's arguments or its result. A provider's message may quote a prompt, so a span has the
 *   reason, the status and the code of a failure only.
 *
 * Read: opentelemetry.io/docs/specs/semconv/gen-ai (gen-ai-spans, gen-ai-agent-spans), version 1.41; attributes that begin
 * with `holdfast.` are Holdfast's own.
 */
import { type Observer, RetryStrategy } from "@holdfast/kernel"
import type { Failure, Message, Target } from "@holdfast/wire"
import { createHash } from "node:crypto"

/** The value of an attribute. */
export type AttributeValue = string | number | boolean | ReadonlyArray<string>

/** The attributes of a span, by name; `undefined` is left out. */
type Attributes = Readonly<Record<string, AttributeValue | undefined>>

/**
 * A span that has ended.
 *
 * | span | name | kind | parent |
 * |---|---|---|---|
 * | turn | `invoke_agent holdfast` | internal | none |
 * | step | `step N` (Holdfast's own: the conventions have none) | internal | turn |
 * | attempt | `chat MODEL` | client | step |
 * | compaction | `compact` (Holdfast's own) | internal | step |
 * | wait before a retry | `retry wait` (Holdfast's own) | internal | step |
 * | tool call | `execute_tool TOOL` | internal | step |
 */
export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: "internal" | "client"
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  /** The failure in a word; `undefined` if there was none. */
  readonly error: string | undefined
}

/** The address of a provider, for `server.address`. */
export type AddressOf = (provider: string) => URL | undefined

/** The trace of a turn. */
export const traceIdOf = (turnId: string): string => digest(turnId).slice(0, 32)

/** An attempt's span, and its step's span if the attempt ends the step. */
export const ofAttempt = (ended: Observer.AttemptEnded, addressOf: AddressOf): ReadonlyArray<Span> => {
  const { attempt, firstContentAt, outcome, report, request, retry, startedAt, step, stepStartedAt, target } = ended
  const failure = outcome._tag === "Failed" ? outcome.failure : undefined
  const usage = outcome._tag === "Completed" || outcome._tag === "Failed" ? outcome.usage : undefined
  const address = addressOf(target.provider)
  const finishReason = outcome._tag === "Completed" ? outcome.finishReason : undefined
  const chat: Span = {
    ...identity(ended, `step/${step}/attempt/${attempt}`, `step/${step}`),
    name: `chat ${target.model}`,
    kind: "client",
    startedAt: startedAt ?? stepStartedAt,
    endedAt: outcome.endedAt,
    error: outcome._tag === "Completed" ? undefined : (failure?.reason ?? outcome._tag.toLowerCase()),
    attributes: {
      "gen_ai.operation.name": "chat",
      ...common(ended),
      ...tokensOf(usage),
      "gen_ai.request.stream": true,
      "gen_ai.response.finish_reasons": finishReason === undefined ? undefined : [finishReason],
      "gen_ai.response.time_to_first_chunk":
        startedAt === undefined || firstContentAt === undefined ? undefined : (firstContentAt - startedAt) / 1_000,
      "server.address": address?.hostname,
      "server.port": address === undefined ? undefined : portOf(address),
      ...ofFailure(failure),
      "holdfast.step": step,
      "holdfast.attempt": attempt,
      "holdfast.retry": retry,
      "holdfast.credential": request?.credential,
      "holdfast.report.refused": report === undefined || report === "accepted" ? undefined : true
    }
  }
  const isStepOver = outcome._tag === "Completed" && !outcome.content.some(({ type }) => type === "tool-call")
  return isStepOver ? [chat, stepOf(ended, outcome.endedAt, undefined)] : [chat]
}

/** A compaction's span. */
export const ofCompaction = (ended: Observer.CompactionEnded): ReadonlyArray<Span> => {
  const { attempt, outcome, startedAt, step } = ended
  const failure = outcome._tag === "Failed" ? outcome.failure : undefined
  return [
    {
      ...identity(ended, `step/${step}/compaction/${attempt}`, `step/${step}`),
      name: "compact",
      startedAt,
      endedAt: outcome.endedAt,
      error: failure?.reason,
      attributes: {
        ...common(ended),
        ...tokensOf(outcome._tag === "Compacted" ? outcome.usage : undefined),
        ...ofFailure(failure),
        "holdfast.step": step,
        "holdfast.attempt": attempt,
        "holdfast.compaction": outcome._tag.toLowerCase()
      }
    }
  ]
}

/** A wait's span. A wait that a command changed, or that asks, has a span per change; the last one covers the whole wait. */
export const ofWait = (ended: Observer.WaitEnded): ReadonlyArray<Span> => {
  const { at, delayMs, failure, retry, retryAt, step, wake } = ended
  if (!RetryStrategy.endsWait(wake)) return []
  return [
    {
      ...identity(ended, `step/${step}/wait/${retry}`, `step/${step}`),
      name: "retry wait",
      startedAt: Math.min(at, retryAt - delayMs),
      endedAt: at,
      error: undefined,
      attributes: {
        ...common(ended),
        "holdfast.step": step,
        "holdfast.retry": retry,
        "holdfast.backoff_ms": delayMs,
        "holdfast.reason": failure.reason,
        "holdfast.wake": wake.type
      }
    }
  ]
}

/** A tool call's span, and its step's span if it was the last call of the step. */
export const ofTool = (ended: Observer.ToolEnded): ReadonlyArray<Span> => {
  const { call, endedAt, isError, othersRunning, startedAt, step } = ended
  const error = call.malformed !== undefined ? "malformed_arguments" : isError ? "tool_error" : undefined
  const tool: Span = {
    ...identity(ended, `step/${step}/tool/${call.toolCallId}`, `step/${step}`),
    name: `execute_tool ${call.toolName}`,
    startedAt,
    endedAt,
    error,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": call.toolName,
      "gen_ai.tool.call.id": call.toolCallId,
      "gen_ai.tool.type": "function",
      "gen_ai.conversation.id": ended.conversationId,
      "error.type": error,
      "holdfast.turn.id": ended.turnId,
      "holdfast.step": step
    }
  }
  return othersRunning === 0 ? [tool, stepOf(ended, endedAt, undefined)] : [tool]
}

/** A turn's span, and the span of its unfinished step. */
export const ofSeal = (sealed: Observer.Sealed): ReadonlyArray<Span> => {
  const { end, retryLoopMs, startedAt } = sealed
  const error = end.status === "completed" ? undefined : (end.error?.reason ?? end.status)
  const turn: Span = {
    ...identity(sealed, "turn", undefined),
    name: "invoke_agent holdfast",
    startedAt,
    endedAt: end.endedAt,
    error,
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "holdfast",
      ...common(sealed),
      ...tokensOf(end.usage),
      ...ofFailure(end.error),
      "error.type": error,
      "holdfast.turn.status": end.status,
      "holdfast.turn.steps": end.steps,
      "holdfast.turn.attempts": end.attempts,
      "holdfast.turn.slept_ms": end.sleptMs,
      "holdfast.turn.waited_ms": end.waitedMs,
      "holdfast.turn.retry_loop_ms": retryLoopMs,
      "holdfast.turn.report": end.report?.source
    }
  }
  // Without an attempt no step has begun.
  return end.status === "completed" || end.attempts === 0 ? [turn] : [stepOf(sealed, end.endedAt, error), turn]
}

// --- internal

const digest = (text: string): string => createHash("sha256").update(text).digest("hex")

const spanIdOf = (turnId: string, path: string): string => digest(`${turnId}/${path}`).slice(0, 16)

const identity = ({ turnId }: Observer.ObservedStep, path: string, parent: string | undefined) => ({
  traceId: traceIdOf(turnId),
  spanId: spanIdOf(turnId, path),
  parentSpanId: parent === undefined ? undefined : spanIdOf(turnId, parent),
  kind: "internal" as const
})

const stepOf = (place: Observer.ObservedStep, endedAt: number, error: string | undefined): Span => ({
  ...identity(place, `step/${place.step}`, "turn"),
  name: `step ${place.step}`,
  startedAt: Math.min(place.stepStartedAt, endedAt),
  endedAt,
  error,
  attributes: { ...common(place), "error.type": error, "holdfast.step": place.step }
})

const common = ({ conversationId, target, turnId }: Observer.ObservedStep): Attributes => ({
  "gen_ai.provider.name": providerOf(target),
  "gen_ai.request.model": target.model,
  "gen_ai.conversation.id": conversationId,
  "holdfast.turn.id": turnId
})

/** The conventions' names of providers, where they differ from Holdfast's. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["google", "gcp.gemini"],
  ["gemini", "gcp.gemini"],
  ["openai-responses", "openai"],
  ["xai", "x_ai"],
  ["mistral", "mistral_ai"]
])

const providerOf = ({ provider }: Target.Target): string => PROVIDERS.get(provider) ?? provider

const tokensOf = (usage: Message.Usage | undefined): Attributes => ({
  "gen_ai.usage.input_tokens": usage?.inputTokens,
  "gen_ai.usage.output_tokens": usage?.outputTokens,
  "gen_ai.usage.cache_read.input_tokens": usage?.cachedInputTokens,
  "gen_ai.usage.cache_creation.input_tokens": usage?.cacheWriteTokens,
  "gen_ai.usage.reasoning.output_tokens": usage?.reasoningTokens
})

const ofFailure = (failure: Failure.Failure | undefined): Attributes => ({
  "error.type": failure?.reason,
  "http.response.status_code": failure?.status,
  "holdfast.error.code": failure?.code
})

const portOf = ({ port, protocol }: URL): number => (port === "" ? (protocol === "https:" ? 443 : 80) : Number(port))
