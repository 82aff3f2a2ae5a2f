/**
 * Recognises the fixed wordings of providers, when no typed code decides (P1, P2).
 *
 * `narrow` knows those of reasons for which codes and statuses are too broad: overflow, a used-up quota, a missing model, a refusal, a
 * key. It refines; it never guesses. `transient` is P1: used last, and only if nothing typed decides.
 *
 * Quoted spans are blanked first (C4): a quotation is text of a user, a model or a client. So "Invalid value: 'rate limit 500'" is no
 * rate limit. A bare 500 or 429 counts only as a separate word, not as a part of `1,500`, `$500`, `at most 500`, `500 tokens` or
 * `id-500`.
 */
import type { Failure } from "@holdfast/wire"

type Pattern = readonly [reason: Failure.Reason, pattern: RegExp]

/** P2: the providers' "too long". Each line matches the sentence of one or more providers. */
const overflow: ReadonlyArray<RegExp> = [
  // Anthropic
  /prompt is too long/,
  /input length and \S{0,20} ?exceed context limit/,
  /request (?:size )?exceeds the maximum (?:allowed )?(?:size|number of bytes)/,
  // Bedrock
  /input is too long for requested model/,
  // OpenAI, Azure, DeepSeek, vLLM, OpenRouter ("This endpoint's maximum context length")
  /maximum context length/,
  /exceeds? the context window/,
  /input tokens exceed the configured limit/,
  /string too long\. expected a string with maximum length/,
  // OpenAI and Groq: larger than the whole minute's allowance
  /request too large for /,
  // Google
  /input token count .{0,30}exceeds the maximum/,
  // xAI
  /maximum prompt length is/,
  // OpenRouter
  /exceeds? (?:the |this )?maximum allowed input length/,
  // Google: by tokens (Vertex), and by bytes
  /input token count is \d+ but model only supports/,
  /request payload size exceeds the limit/,
  // Bedrock
  /number of input tokens exceeds maximum length/,
  /too many input tokens\. max input tokens/,
  // Cloudflare Workers AI
  /exceeded this model context window limit/,
  // Volcengine
  /exceed max message tokens/,
  // DeepInfra
  /requested input length \d+ exceeds maximum input length/,
  // gateways of several providers
  /tokens in request more than max tokens allowed/,
  // Groq, Together
  /reduce the length of the (?:messages|prompt|input)/,
  // Copilot
  /prompt token count of \d+ exceeds the limit/,
  // llama.cpp, LM Studio, Ollama
  /exceeds the available context size/,
  /context size has been exceeded/,
  /input length exceeds (?:the )?(?:maximum )?context length/,
  /greater than the context length/,
  /loaded with context length of only/,
  /configured context size is/,
  /prompt too long; exceeded (?:max )?context length/,
  // MiniMax, Moonshot, Alibaba, Z.ai
  /context window exceeds limit/,
  /exceeded model token limit/,
  /range of input length should be/,
  /prompt exceeds max length/,
  // Cohere
  /too many tokens: (?:total number of tokens|size limit exceeded)/,
  // Perplexity
  /following a prompt of length \d+, which exceeds the max limit/,
  // TGI and Together, which quote the names of fields
  /(?:''|inputs) tokens \+ (?:''|max_new_tokens) must be <=/,
  /(?:''|inputs) must have less than \d+ tokens/,
  // SGLang, vLLM, llama-cpp-python, SiliconFlow
  /longer than the (?:model's context length|maximum model length)/,
  /exceed context window of/,
  /prompt_tokens \(\d+\) must be less than max_seq_len/,
  // proxies
  /(?:request entity|payload|content|request body) too large/,
  /context[ _-]?(?:length|window)[ _-]?exceeded/
]

const narrowing: ReadonlyArray<Pattern> = [
  ...overflow.map((pattern): Pattern => ["context-overflow", pattern]),
  // OpenAI, Google without details
  ["quota-exhausted", /exceeded your current quota/],
  // Anthropic
  ["quota-exhausted", /credit balance is too low/],
  ["quota-exhausted", /reached your specified (?:workspace )?api usage limits/],
  ["quota-exhausted", /extra usage is required/],
  // OpenRouter
  ["quota-exhausted", /requires more credits|more credits are required|insufficient credits|free-models-per-day/],
  // xAI
  ["quota-exhausted", /used all available credits|monthly spending limit|run out of credits|have any credits/],
  // DeepSeek, Moonshot and resellers
  ["quota-exhausted", /insufficient (?:account )?(?:balance|funds|quota)|exceeded_current_quota/],
  ["quota-exhausted", /billing hard limit|account is not active, please check your billing/],
  ["quota-exhausted", /(?:requests?|tokens?)[ _]per[ _]day\b|\b(?:tpd|rpd)\b|exhausted your (?:daily|monthly) quota/],
  // Z.ai, MiniMax, Ollama
  ["quota-exhausted", /(?:\b\d+[ -]hour|weekly|monthly|daily|session) usage limit|usage limit reached for \d+ hour/],
  ["quota-exhausted", /weekly\/monthly limit exhausted|已达到.{0,20}使用上限/s],
  // Alibaba, Volcengine
  ["quota-exhausted", /free tier of the model has been exhausted|free allocated quota exceeded/],
  ["quota-exhausted", /has reached the set inference limit/],
  // Fireworks
  ["quota-exhausted", /reaching the monthly spending limit/],
  // Anthropic
  ["quota-exhausted", /exceeded your daily rate limit/],
  // Google code assist
  ["quota-exhausted", /quota will reset after/],
  // a key that is missing or wrong, where the status is 400 or missing
  ["auth", /(?:invalid|incorrect|missing|expired|no) (?:x-)?api[ -]?key|api key (?:not valid|expired|not found)/],
  ["auth", /no auth credentials found|account (?:has been |is |was )(?:terminated|deactivated|suspended|disabled)/],
  [
    "refused",
    /content (?:management|filtering|filter|usage|moderation) polic|content exists risk|safety system|usage (?:policy|policies|guidelines)\b/
  ],
  ["refused", /flagged (?:as|for|by) |requires moderation|data_inspection_failed|inappropriate content/],
  // Anthropic writes "model: claude-x" and nothing more
  ["model-unavailable", /^model: \S+$/],
  [
    "model-unavailable",
    /model\b.{0,80}(?:does not exist|not found|not available|not supported|no longer (?:available|supported)|been (?:decommissioned|deprecated|retired))/
  ],
  ["model-unavailable", /models\/\S+ is not found|no endpoints found|no allowed providers|unknown model|no such model/],
  ["model-unavailable", /not have access to (?:the )?model/],
  // OpenAI, Google, Bedrock: the place of the client, for which no other key helps
  ["model-unavailable", /(?:country|region|territory|location)\b.{0,30}\bnot supported|from unsupported countries/],
  [
    "model-unavailable",
    /not (?:supported|available|allowed) (?:in|from|for) (?:your |this |the )(?:country|region|location)/
  ],
  // Cohere, Perplexity
  ["model-unavailable", /\b(?:model|api) .{0,60}was removed on|^invalid model /],
  // Bedrock
  ["model-unavailable", /model identifier is invalid|with on-demand throughput isn.t supported/],
  ["model-unavailable", /deployment for this resource does not exist/]
]

const digits = (statuses: string): RegExp =>
  new RegExp(
    `(?<![\\w.,$#/=<>-])(?<!\\b(?:most|least|than|max|maximum|limit|exceeds?|equal to|up to) )(?:${statuses})(?![\\w%-]|[.,:/]\\d| *(?:tokens?|characters?|chars|items?|bytes?|k?b\\b|m?s\\b|seconds?|messages?|requests?))`
  )

/** P1, in order of priority for a sentence that fits several patterns. */
const passing: ReadonlyArray<Pattern> = [
  ["overloaded", /overloaded|over capacity|at capacity|no capacity|capacity (?:exceeded|exhausted|constraints)/],
  ["rate-limited", /rate[ _-]?limit|too many (?:requests|tokens, please wait)|throttl/],
  ["overloaded", /service[ _-]?(?:is )?(?:temporarily |currently )?unavailable|temporarily unavailable|high demand/],
  ["overloaded", /server (?:is )?(?:too )?busy|no healthy upstream|slow down/],
  ["timeout", /time[ds]?[ -]?out|deadline exceeded/],
  [
    "network",
    /upstream connect error|reset before headers|socket|hang up|other side closed|premature close|fetch failed|failed to fetch/
  ],
  ["network", /network|connection|cannot connect|unable to connect|econn|enotfound|eai_again|epipe/],
  ["network", /\bterminated\b|unexpected (?:end of|eof)|(?:stream|response) (?:ended|closed|broke off|was cut)/],
  // a stream that broke off before its first envelope, in the wordings of client libraries
  ["network", /before (?:a |the )?(?:message_start|first message|terminal event|message_stop)/],
  ["overloaded", digits("503|529")],
  ["rate-limited", digits("429")],
  ["timeout", digits("504")],
  ["server-error", digits("500|502")],
  ["server-error", /bad gateway|server[ _-]?error|internal[ _-]?error|error on (?:our|the server) (?:end|side)/],
  ["server-error", /provider returned error|retry your request|retry delay|had an error (?:while )?processing/],
  ["aborted", /\baborted\b|context canceled|request was cancell?ed/]
]

/** Characters of a text that are searched: errors have their meaning at the start, and patterns must stay cheap. */
const LOOKED_AT = 2_000

/** Returns the text for patterns, in lower case and without quotations. An apostrophe inside a word is no quotation mark. */
export const readable = (text: string): string =>
  text
    .slice(0, LOOKED_AT)
    .toLowerCase()
    .replaceAll(/`[^`]*`|"[^"]*"|“[^”]*”|(?<!\w)'[^'\n]*'(?!\w)/g, "''")

/** Most texts fit no pattern of a table, and one combined pattern finds that in a third of the time. */
const matcher = (patterns: ReadonlyArray<Pattern>): ((text: string) => Failure.Reason | undefined) => {
  const any = new RegExp(patterns.map(([, { source }]) => source).join("|"))
  return (text) => {
    const looked = readable(text)
    return any.test(looked) ? patterns.find(([, pattern]) => pattern.test(looked))?.[0] : undefined
  }
}

/** Finds a reason by the narrow wordings. */
export const narrow = matcher(narrowing)

/** Finds a reason by the wordings of P1. */
export const transient = matcher(passing)

/** Whether a text names a limit of usage: that of a plan, which a key uses up (P7). */
export const isUsageLimit = (text: string): boolean => /(?<!not (?:your|a) )usage[ _-]?limit/.test(readable(text))

/** Whether an account has no balance, by MiniMax's own number, which also comes with status 500. */
export const isUnpaid = (text: string): boolean => readable(text).includes("insufficient balance (1008)")
