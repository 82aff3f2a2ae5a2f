/**
 * The state machine that decodes a Gemini stream.
 *
 * A stream has no end mark but a finish reason; without it the stream has broken off (C6). A call comes as a whole. It is held until the
 * next part or the finish reason: one without arguments may have been cut at the token limit (C7). A thought signature ends the part
 * that it comes with: of a call or a file it is that part's proof, of anything else a reasoning block's.
 *
 * Response.G4. A signature ahead of any output is held until there is some: an overload right after it is still before content (D4).
 *
 * Source: Gemini API reference, "Generating content" (`Candidate`, `FinishReason`, `PromptFeedback`); "Thought signatures".
 */
import type { Provider } from "@holdfast/kernel"
import { ResponseLimit } from "@holdfast/kernel/host"
import { defined, JsonShape, type Message } from "@holdfast/wire"
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from "../decoding/Json.ts"
import * as ModelFile from "../decoding/ModelFile.ts"
import type { Machine } from "../decoding/Protocol.ts"
import * as ToolArguments from "../decoding/ToolArguments.ts"
import * as UsageMeter from "../decoding/UsageMeter.ts"
import * as Signature from "./Signature.ts"
import * as Usage from "./Usage.ts"

/** Makes the machine. `idOf` gives an id to the nth tool call where the provider gave none. */
export const make = (idOf: (n: number) => string): Machine => {
  const usage = UsageMeter.make()
  let call: Call | undefined
  let calls = 0
  let held = 0
  let kept = 0
  let hasOutput = false
  let stopped: string | undefined
  /** Proofs ahead of any output. */
  let proofs: Array<string> = []

  /** Emits the proofs that were held. */
  const prove = (out: Array<Provider.ProviderEvent>) => {
    for (const proof of proofs) out.push({ type: "reasoning-end", proof })
    if (proofs.length > 0) proofs = []
  }

  const release = (wasCut: boolean, out: Array<Provider.ProviderEvent>) => {
    if (call === undefined) return
    const { id = idOf(calls), name, proof, text } = call
    call = undefined
    calls++
    prove(out)
    out.push({ ...ToolArguments.toCall({ toolCallId: id, toolName: name, text, wasCut }), ...defined({ proof }) })
  }

  const keep = (text: string) => {
    kept += ResponseLimit.PART_CHARACTERS + text.length
  }

  const part = (json: JsonObject, out: Array<Provider.ProviderEvent>) => {
    const text = textOf(json.text)
    const given = isObject(json.functionCall) ? json.functionCall : undefined
    const [file] = fileOf(json)
    if (text === undefined && given === undefined && file === undefined && textOf(json.thoughtSignature) === undefined)
      return
    release(false, out)
    if (file !== undefined) {
      prove(out)
      out.push(file)
      return
    }
    if (text !== undefined) {
      prove(out)
      out.push({ type: json.thought === true ? "reasoning-delta" : "text-delta", delta: text })
    }
    if (given === undefined) {
      const proof = Signature.toProof(json.thoughtSignature)
      if (proof === undefined) return
      keep(proof)
      if (hasOutput || text !== undefined) out.push({ type: "reasoning-end", proof })
      else proofs.push(proof) // Response.G4
      return
    }
    call = callOf(given, json.thoughtSignature)
    held += call.text.length + 1
    keep(call.name + call.text + (call.proof ?? ""))
  }

  return {
    frame: (frame, _event, out) => {
      const before = out.length
      if (isObject(frame.error) || typeof frame.error === "string") return "error"
      const [candidate = NOTHING] = objectsOf(frame.candidates)
      const parts = objectsOf(objectOf(candidate.content).parts)
      if (parts.some(({ functionCall }) => isPartial(objectOf(functionCall)))) {
        out.push({ type: "error", failure: PARTIAL_CALL })
        return "failed"
      }
      if (isObject(frame.usageMetadata)) usage.set(Usage.read(frame.usageMetadata))
      for (const json of parts) part(json, out)
      const reason = textOf(candidate.finishReason)
      const failure =
        blocked(objectOf(frame.promptFeedback)) ?? (reason === undefined ? undefined : failureOf(reason, candidate))
      if (failure !== undefined) {
        out.push({ type: "error", failure })
        return "failed"
      }
      if (reason !== undefined && reason !== "FINISH_REASON_UNSPECIFIED") {
        stopped = reason
        release(finishReasonOf(reason) === "length", out)
      }
      if (out.length > before) {
        hasOutput = true
        usage.first(out)
      }
      return stopped === undefined ? "open" : "finishing"
    },
    // Google's own streams have no such mark; a proxy's may.
    done: () => (stopped !== undefined || hasOutput || call !== undefined ? "finished" : "open"),
    finish: (out) => {
      release(false, out)
      prove(out)
      usage.last(out)
      const finishReason = stopped === undefined ? "other" : finishReasonOf(stopped)
      // The finish reason of a response with calls is STOP, too.
      const asksForTools = calls > 0 && (finishReason === "stop" || finishReason === "other")
      out.push({ type: "finish", finishReason: asksForTools ? "tool-calls" : finishReason })
    },
    unfinished: () => (call === undefined ? [] : [call.name]),
    held: () => held,
    kept: () => kept
  }
}

// --- internal

const NOTHING: JsonObject = {}

interface Call {
  readonly id: string | undefined
  readonly name: string
  readonly text: string
  readonly proof: string | undefined
}

/** The file of a part. One among thoughts is a draft of an image that follows. */
const fileOf = ({ inlineData, thought, thoughtSignature }: JsonObject): ReadonlyArray<Message.ModelFile> => {
  const { data, mimeType } = objectOf(inlineData)
  return thought === true ? [] : ModelFile.of(mimeType, data, Signature.toProof(thoughtSignature))
}

const callOf = ({ args, id, name }: JsonObject, thoughtSignature: unknown): Call => ({
  id: textOf(id),
  name: textOf(name) ?? "",
  // An empty object may stand for arguments that were not written yet.
  text:
    typeof args === "string"
      ? args
      : isObject(args) && Object.keys(args).length > 0
        ? JsonShape.textOf(args, Infinity)
        : "",
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

const finishReasonOf = (reason: string): Message.FinishReason => {
  switch (reason) {
    case "STOP":
      return "stop"
    case "MAX_TOKENS":
      return "length"
    case "SAFETY":
    case "RECITATION":
    case "LANGUAGE":
    case "BLOCKLIST":
    case "PROHIBITED_CONTENT":
    case "SPII":
    case "IMAGE_SAFETY":
    case "IMAGE_PROHIBITED_CONTENT":
      return "content-filter"
    default:
      return "other"
  }
}
