/**
 * Reads and writes the metadata that a provider gives with a part and must get back.
 *
 * The signature and the redacted data of a reasoning block have fields of their own in a message. All else is a part's `proof`.
 */
import { defined } from "@holdfast/wire"
import type { Json, ReasoningPart } from "../Events.ts"

/** Metadata or options of a part, by provider. */
export type Metadata = { readonly [provider: string]: Json | undefined }

/** What a message keeps of it. */
export type Proof = Pick<ReasoningPart, "signature" | "redacted" | "proof">

/** The field of Anthropic's metadata that has the signature; absent: the metadata itself. */
export type Within = "info"

/** The proof of a tool call or a file. */
export const proofOf = (metadata: Metadata = {}): Pick<Proof, "proof"> => {
  const filled = Object.entries(metadata).filter(([, fields]) => Object.keys(fieldsOf(fields)).length > 0)
  return filled.length === 0 ? {} : { proof: JSON.stringify(Object.fromEntries(filled)) }
}

/** The same of a reasoning block. */
export const blockProofOf = (metadata: Metadata = {}, within?: Within): Proof => {
  const { anthropic, ...others } = metadata
  const whole = fieldsOf(anthropic)
  const { redactedData, signature } = within === undefined ? whole : fieldsOf(whole[within])
  const own = within === undefined ? ["signature", "redactedData"] : [within]
  const more = Object.fromEntries(Object.entries(whole).filter(([name]) => !own.includes(name)))
  return {
    ...(typeof signature === "string" ? { signature } : undefined),
    ...(typeof redactedData === "string" ? { redacted: redactedData } : undefined),
    ...proofOf({ ...others, anthropic: more })
  }
}

/** The metadata that a part goes back with; empty: none. */
export const metadataOf = (
  { proof, redacted, signature }: Proof,
  within?: Within
): { readonly [provider: string]: Fields } => {
  const others = proof === undefined ? {} : JSON.parse(proof)
  if (signature === undefined && redacted === undefined) return others
  const own = defined({ signature, redactedData: redacted })
  const type = redacted === undefined ? "thinking" : "redacted_thinking"
  const anthropic = within === undefined ? own : { [within]: { type, ...own } }
  return { ...others, anthropic: { ...others.anthropic, ...anthropic } }
}

/** The metadata of two parts of one block. */
export const merged = (known: Metadata = {}, added: Metadata = {}): Metadata => ({
  ...known,
  ...Object.fromEntries(
    Object.entries(added).map(([name, fields]) => [name, { ...fieldsOf(known[name]), ...fieldsOf(fields) }])
  )
})

// --- internal

interface Fields {
  readonly [name: string]: Json
}

const fieldsOf = (values: Json | undefined): Fields =>
  typeof values === "object" && values !== null && !Array.isArray(values) ? (values as Fields) : {}
