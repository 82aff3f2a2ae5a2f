/** Names a call of a model by what is asked: the same prompt, tools and settings of the same model are the same call. */
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider"

/** The id of a call, 64 hexadecimal digits. Headers are left out: tracing changes them from call to call. */
export const idOf = async (
  { modelId, provider }: Pick<LanguageModelV4, "modelId" | "provider">,
  { abortSignal: _abortSignal, headers: _headers, includeRawChunks: _raw, ...params }: LanguageModelV4CallOptions
): Promise<string> => {
  const text = JSON.stringify({ modelId, provider, params }, inOrder)
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
}

// --- internal

/** Keys in the order of the alphabet, and bytes as text: each byte is another character. */
const inOrder = (_key: string, value: unknown): unknown => {
  if (value instanceof Uint8Array) return new TextDecoder("latin1").decode(value)
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
