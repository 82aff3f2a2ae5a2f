/**
 * Finds the scope of a limit: a model, the credential, or its account (C12).
 *
 * A scope that the error does not name is not guessed: a balance may belong to an account, but if the error names none, one call of a
 * chain's other model is tried. Quotas by name come before codes, and codes before text. If a model is named beside an account ("for
 * model x in organization y"), the model counts, because it is narrower. Quoted parts of the text are blanked (`Wording.readable`).
 */
import type { Failure } from "@holdfast/wire"
import type * as ResponseBody from "./ResponseBody.ts"
import * as Codes from "./Codes.ts"
import * as Wording from "./Wording.ts"

/** Returns the scope of a failure's limit; `undefined`: it is no limit, or the error names no scope. */
export const of = (
  reason: Failure.Reason,
  body: ResponseBody.ParsedBody,
  codes: ReadonlyArray<string> = []
): Failure.Scope | undefined => {
  if (reason !== "rate-limited" && reason !== "quota-exhausted") return undefined
  if (body.kind === "text") return ofTexts([body.text])
  if (body.kind !== "envelope") return undefined
  const { envelope } = body
  return envelope.scope ?? ofCodes([...envelope.codes, ...codes]) ?? ofTexts(envelope.texts)
}

// --- internal

/** Providers' codes that name a scope. */
const CODES: ReadonlyArray<readonly [scope: Failure.Scope, codes: ReadonlyArray<string>]> = [
  ["model", ["user_model_rate_limited", "model_capacity_exhausted"]],
  ["account", ["user_global_rate_limited", "billing_not_active", "billing_hard_limit_reached", "arrearage"]]
]

const ofCodes = (codes: ReadonlyArray<string>): Failure.Scope | undefined => {
  const keys = new Set(codes.map(Codes.keyOf))
  return CODES.find(([, known]) => known.some((code) => keys.has(Codes.keyOf(code))))?.[0]
}

const ACCOUNT = "(?:account|organi[sz]ation|workspace|team|project|subscription)"
const LIMIT = "(?:limit|quota|capacity|balance|credits?|spend|budget|rpm|tpm|billing|arrears|suspended)"

const patterns: ReadonlyArray<readonly [scope: Failure.Scope, pattern: RegExp]> = [
  // "Rate limit reached for model `x` in organization", "exhausted your capacity on this model", "with base model: x"
  ["model", /(?:limit|quota|capacity|requests)\b[^.]{0,80}\b(?:for|on|of|with|to) (?:the |this |that |base )*model\b/],
  // OpenAI: "Rate limit reached for gpt-4o in organization org-1 on tokens per min"
  ["model", /limit reached for [a-z0-9][\w.:/-]* (?:in|on) (?:organization|project)/],
  // Google: "Quota exceeded for metric: …, limit: 20, model: gemini-2.5-flash"; Anthropic: "(model: claude-x)"
  ["model", /(?:limit|quota)\b.{0,250}[,(] ?model: ?\S/s],
  // Alibaba, Volcengine
  ["model", /free tier of the model|limit for the \S{1,80} model\b/],
  ["model", /this model(?:'s)? .{0,40}(?:limit|quota|rate)|per_(?:base_)?model\b/],
  ["model", /模型.{0,20}(?:限制|上限|限流|频率|频次)/],
  // OpenRouter: "Key limit exceeded (weekly limit)"
  ["credential", /\bkey (?:total |weekly |daily |monthly )?(?:limit|quota|budget)\b/],
  ["credential", /(?:limit|quota|budget)\b[^.]{0,40}\b(?:for|of|on) (?:this|your|the) (?:api[ -]?)?key\b/],
  ["credential", /\b(?:this|your|the) (?:api[ -]?)?key (?:has |is )?(?:reached|exceeded|used up|out of|over)/],
  ["account", new RegExp(`\\b${ACCOUNT}\\b[^.]{0,80}\\b${LIMIT}`)],
  ["account", new RegExp(`\\b${LIMIT}\\b[^.]{0,60}\\b(?:your|this|the|of|for|in) (?:[\\w-]+ )?${ACCOUNT}\\b`)],
  ["account", /账[户号]/]
]

const ofTexts = (texts: ReadonlyArray<string>): Failure.Scope | undefined => {
  const read = texts.map(Wording.readable)
  return patterns.find(([, pattern]) => read.some((text) => pattern.test(text)))?.[0]
}
