/**
 * Thought signatures: Gemini's encrypted state of its reasoning, kept as the `proof` of a message's part.
 *
 * Source: Gemini API documentation, "Thought signatures".
 */
import { parsed, textOf } from "../decoding/Json.ts"

/** As a part's `proof`; `undefined`: there is none. */
export const toProof = (thoughtSignature: unknown): string | undefined =>
  textOf(thoughtSignature) === undefined ? undefined : JSON.stringify({ thoughtSignature })

/** What `toProof` was given; `undefined` for the proof of another adapter. */
export const ofProof = (proof: string | undefined): string | undefined => textOf(parsed(proof).thoughtSignature)

/**
 * A signature that Gemini 3 accepts for a call that it did not make, in the documentation's words "to bypass strict validation": of a step that
 * another model answered, after a switch of targets. Older models ask for none.
 */
export const FOREIGN = "skip_thought_signature_validator"

/** Whether a model rejects a step whose first call has no signature. */
export const isRequired = (model: string): boolean => /gemini-(?:[3-9]|\d\d)/.test(model)
