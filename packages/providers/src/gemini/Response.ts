/**
 * The state machine that decodes a Gemini stream.
 *
 * A stream has no end mark but a finish reason; without it the stream has broken off (C6). A call comes as a whole. It is held until the
 * next part or the finish reason: one without arguments may have been cut at the token limit (C7). A thought signature ends the part
 * that it comes with: of a call or a file it is that part's proof, of anything else a reasoning block's.
 *
 * Source: Gemini API reference, "Generating content" (`Candidate`, `FinishReason`, `PromptFeedback`); "Thought signatures".
 */
import type { Provider } from "@holdfast/kernel"
import { ResponseLimit, TextBuffer } from "@holdfast/kernel/host"
import { JsonShape, type Message, defined } from "@holdfast/wire"
import { isObject, type JsonObject, objectOf, objectsOf, textOf, countOf } from "../decoding/Json.ts"
import * as ModelFile from "../decoding/ModelFile.ts"
import { OpenParts } from "../decoding/OpenParts.ts"
import type { Machine } from "../decoding/Protocol.ts"
import * as UsageMeter from "../decoding/UsageMeter.ts"
import * as Signature from "./Signature.ts"

/** Makes the machine. `idOf` gives an id to the nth tool call where the provider gave none. */
export const make = (idOf: (n: number) => string): Machine => {
  const usage = UsageMeter.make()
  const parts = new OpenParts(idOf)
  let hasOutput = false
  let stopped: string | undefined

  const part = (json: JsonObject, out: Array<Provider.ProviderEvent>) => {
    const text = textOf(json.text)
    const given = isObject(json.functionCall) ? json.functionCall : undefined
    const [file] = fileOf(json)
    if (text === undefined && given === undefined && file === undefined && textOf(json.thoughtSignature) === undefined)
      return
    parts.release(false, out)
    if (file !== undefined) {
      parts.prove(out)
      out.push(file)
      return
    }
    if (text !== undefined) {
      parts.prove(out)
      out.push({ type: json.thought === true ? "reasoning-delta" : "text-delta", delta: text })
    }
    if (given === undefined) {
      const proof = Signature.toProof(json.thoughtSignature)
      if (proof === undefined) return
      parts.kept += ResponseLimit.PART_CHARACTERS + proof.length
      if (hasOutput || text !== undefined) out.push({ type: "reasoning-end", proof })
      else parts.keepProof(proof)
      return
    }
    const call = callOf(given, json.thoughtSignature)
    parts.held += call.text.length + 1
    parts.kept += ResponseLimit.PART_CHARACTERS + call.name.length + call.text.length + (call.proof?.length ?? 0)
    parts.hold(call, out)
  }

  return {
    frame: (frame, _event, out) => {
      const before = out.length
      if (isObject(frame.error) || typeof frame.error === "string") return "error"
      const [candidate = NOTHING] = objectsOf(frame.candidates)
      const given = objectsOf(objectOf(candidate.content).parts)
      if (given.some(({ functionCall }) => isPartial(objectOf(functionCall)))) {
        out.push({ type: "error", failure: PARTIAL_CALL })
        return "failed"
      }
      if (isObject(frame.usageMetadata)) usage.set(usageOf(frame.usageMetadata))
      for (const json of given) part(json, out)
      const reason = textOf(candidate.finishReason)
      const failure =
        blocked(objectOf(frame.promptFeedback)) ?? (reason === undefined ? undefined : failureOf(reason, candidate))
      if (failure !== undefined) {
        out.push({ type: "error", failure })
        return "failed"
      }
      if (reason !== undefined && reason !== "FINISH_REASON_UNSPECIFIED") {
        stopped = reason
        parts.release(finishReasonOf(reason) === "length", out)
      }
      if (out.length > before) {
        hasOutput = true
        usage.first(out)
      }
      return stopped === undefined ? "open" : "finishing"
    },
    // Google's own streams have no such mark; a proxy's may.
    done: () => (stopped !== undefined || hasOutput || parts.unfinished().length > 0 ? "finished" : "open"),
    finish: (out) => {
      parts.release(false, out)
      parts.prove(out)
      usage.last(out)
      const finishReason = stopped === undefined ? "other" : finishReasonOf(stopped)
      // The finish reason of a response with calls is STOP, too.
      const asksForTools = parts.calls > 0 && (finishReason === "stop" || finishReason === "other")
      out.push({ type: "finish", finishReason: asksForTools ? "tool-calls" : finishReason })
    },
    unfinished: () => parts.unfinished(),
    held: () => parts.held,
    kept: () => parts.kept
  }
}

// Converts Gemini's token counts to `Message.Usage`.
//
// Source: Gemini API reference, "Generating content" (`UsageMetadata`); "Context caching".

/**
 * Reads a `usageMetadata` object.
 *
 * **Gotchas**
 *
 * `candidatesTokenCount` does not include thoughts, and `promptTokenCount` does not include the results of hosted tools; both are added.
 */
export const usageOf = (usage: JsonObject): Message.Usage => {
  const thoughts = countOf(usage.thoughtsTokenCount)
  return defined({
    inputTokens: sum(countOf(usage.promptTokenCount), countOf(usage.toolUsePromptTokenCount)),
    outputTokens: sum(countOf(usage.candidatesTokenCount), thoughts),
    reasoningTokens: thoughts,
    cachedInputTokens: countOf(usage.cachedContentTokenCount)
  })
}

// --- internal

const NOTHING: JsonObject = {}

/** The file of a part. One among thoughts is a draft of an image that follows. */
const fileOf = ({ inlineData, thought, thoughtSignature }: JsonObject): ReadonlyArray<Message.ModelFile> => {
  const { data, mimeType } = objectOf(inlineData)
  return thought === true ? [] : ModelFile.of(mimeType, data, Signature.toProof(thoughtSignature))
}

const callOf = ({ args, id, name }: JsonObject, thoughtSignature: unknown) => ({
  id: textOf(id),
  name: textOf(name) ?? "",
  // An empty object may stand for arguments that were not written yet.
  text: new TextBuffer.TextBuffer(
    typeof args === "string"
      ? args
      : isObject(args) && Object.keys(args).length > 0
        ? JsonShape.textOf(args, Infinity)
        : undefined
  ),
  proof: Signature.toProof(thoughtSignature)
})

/** Whether a call comes in pieces, which only Vertex sends, and only on request. */
const isPartial = ({ partialArgs, willContinue }: JsonObject): boolean =>
  willContinue === true || Array.isArray(partialArgs)

const PARTIAL_CALL: Provider.EmittedFailure = {
  reason: "invalid-response",
  message: "The provider sent a tool call in pieces. Remove streamFunctionCallArguments from the provider's body.",
  retryable: false
}

/** The failure of a prompt that was blocked. */
const blocked = (feedback: JsonObject): Provider.EmittedFailure | undefined => {
  const reason = textOf(feedback.blockReason)
  if (reason === undefined || reason === "BLOCK_REASON_UNSPECIFIED") return undefined
  const message = textOf(feedback.blockReasonMessage) ?? `The provider blocked the prompt: ${reason}.`
  return { reason: "refused", message, retryable: false, code: reason }
}

/** The failure of a finish reason: a call that the provider itself could not read. */
const failureOf = (reason: string, candidate: JsonObject): Provider.EmittedFailure | undefined =>
  reason === "MALFORMED_FUNCTION_CALL"
    ? {
        reason: "invalid-response",
        message: textOf(candidate.finishMessage) ?? `The provider ended the response with finishReason "${reason}".`,
        retryable: true,
        code: reason
      }
    : undefined

const finishReasonOf = (reason: string): Message.FinishReason => FINISH_REASONS.get(reason) ?? "other"

const FINISH_REASONS: ReadonlyMap<string, Message.FinishReason> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["SAFETY", "content-filter"],
  ["RECITATION", "content-filter"],
  ["LANGUAGE", "content-filter"],
  ["BLOCKLIST", "content-filter"],
  ["PROHIBITED_CONTENT", "content-filter"],
  ["SPII", "content-filter"],
  ["IMAGE_SAFETY", "content-filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content-filter"]
])

const sum = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0)
