/**
 * A provider that follows scripts, one an attempt, in order.
 *
 * An attempt without a script is a defect of the test: its stream dies.
 */
import { Failure } from "@holdfast/wire"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { EmittedFailure, Provider, ProviderEvent, ProviderRequest } from "../src/ports/Provider.ts"

/** One attempt: its events in reads, and its end. */
export interface Script {
  /** Each inner array is one read: it reaches the kernel at once. */
  readonly reads: ReadonlyArray<ReadonlyArray<ProviderEvent>>
  readonly end: Effect.Effect<void, Failure.ProviderFailure>
}

type Service = Provider["Service"] & { readonly requests: ReadonlyArray<ProviderRequest> }

/** Makes a provider over scripts. `requests` has its requests, in order. */
export const make = (scripts: ReadonlyArray<Script>): Service => {
  const requests: Array<ProviderRequest> = []
  return {
    requests,
    stream: (request) => {
      const script = scripts[requests.length]
      requests.push(request)
      if (script === undefined) return Stream.die(new Error(`attempt ${requests.length} was not scripted`))
      const reads = script.reads.map((events) => Stream.fromIterable(events))
      return Stream.concat(Stream.flatten(Stream.fromIterable(reads)), Stream.drain(Stream.fromEffect(script.end)))
    }
  }
}

// --- scripts

const USAGE = { inputTokens: 10, outputTokens: 5 }

/** Answers with text, one read a delta. */
export const answer = (...deltas: ReadonlyArray<string>): Script => ({
  reads: [...deltas.map((delta) => [text(delta)]), [{ type: "usage", usage: USAGE }, finish]],
  end: Effect.void
})

/** Calls tools. */
export const tools = (...calls: ReadonlyArray<Extract<ProviderEvent, { type: "tool-call" }>>): Script => ({
  reads: [[...calls, { type: "usage", usage: USAGE }, { type: "finish", finishReason: "tool-calls" }]],
  end: Effect.void
})

/** Yields events, then emits a failure. */
export const emits = (failure: EmittedFailure, ...before: ReadonlyArray<ProviderEvent>): Script => ({
  reads: [[...before, { type: "error", failure }]],
  end: Effect.void
})

/** Emits a failure with the whole body of the response. */
export const emitsBody = (failure: EmittedFailure, body: string): Script => ({
  reads: [[{ type: "error", failure, body }]],
  end: Effect.void
})

/** Yields events, then fails in the error channel. */
export const throws = (failure: Failure.Failure, ...before: ReadonlyArray<ProviderEvent>): Script => ({
  reads: before.length === 0 ? [] : [before],
  end: Effect.fail(new Failure.ProviderFailure({ failure }))
})

/** Yields events, then dies of a bug. */
export const dies = (defect: unknown, ...before: ReadonlyArray<ProviderEvent>): Script => ({
  reads: before.length === 0 ? [] : [before],
  end: Effect.die(defect)
})

/** Yields events, then ends without `finish`. */
export const breaksOff = (...before: ReadonlyArray<ProviderEvent>): Script => ({
  reads: before.length === 0 ? [] : [before],
  end: Effect.void
})

/** Yields events, then hangs; `reached` succeeds when it does. */
export const hangs = (reached: Deferred.Deferred<void>, ...before: ReadonlyArray<ProviderEvent>): Script => ({
  reads: before.length === 0 ? [] : [before],
  end: Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
})

// --- events

/** A text delta. */
export const text = (delta: string): ProviderEvent => ({ type: "text-delta", delta })

/** The end of a response with text. */
export const finish: ProviderEvent = { type: "finish", finishReason: "stop" }

/** A tool call; its id is made from the name. */
export const call = (toolName: string, toolCallId = `call-${toolName}`, input = {}) =>
  ({ type: "tool-call", toolCallId, toolName, input }) as const

/** Anthropic's overload, verbatim. */
export const overloaded: Failure.Failure = {
  reason: "overloaded",
  message: "The service is temporarily overloaded. Please retry.",
  retryable: true,
  status: 429,
  code: "overloaded_error"
}

/** A 502 of a gateway: retryable. */
export const badGateway: Failure.Failure = {
  reason: "server-error",
  message: "Bad Gateway",
  retryable: true,
  status: 502
}

/** A rejected key: final. */
export const unauthorized: Failure.Failure = {
  reason: "auth",
  message: "invalid x-api-key",
  retryable: false,
  status: 401,
  code: "authentication_error"
}
